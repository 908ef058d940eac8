import { createFifo, type Fifo } from '../lib/fifo.ts';
import type { ClaimedDelivery } from '../model/delivery.ts';
import type { HeldAttempt, LaneClaim } from '../store/delivery-store.ts';
import type { LaneTarget } from './attempt.ts';
import { IN_FLIGHT_PER_ENDPOINT } from './places.ts';
import { createThrottle, type Throttle } from './throttle.ts';

/** Deliveries claimed ahead for a healthy endpoint, so that the next claim's commit overlaps with sending. */
const AHEAD = 40;
/** The same in bytes: bodies reach 256 KB. */
const AHEAD_BYTES = 1_048_576;

/** Deliveries of one claim; after `until` (monotonic) their lease is too short for another attempt. */
export interface Batch {
  deliveries: readonly ClaimedDelivery[];
  next: number;
  until: number;
  /** See {@link LaneClaim.release}. */
  release(): void;
}

/**
 * One endpoint's work in memory. States, by what it holds:
 *   idle       nothing due, nothing claimed                     → due
 *   due        `dueAt` has come; waits for a claim              → claimed | idle
 *   claimed    deliveries at hand; sends while there is room    → claimed | due | idle
 *   doubtful   failed since the last claim: sends nothing until a claim says that it was not paused
 */
export interface Lane {
  readonly endpointId: string;
  tenantId: string;
  readonly throttle: Throttle;
  /** What the endpoint's current version says; null before the first claim, and when it was paused or deleted. */
  target: LaneTarget | null;
  /** When its next unclaimed delivery is due, Unix milliseconds; Infinity: none known. */
  dueAt: number;
  readonly batches: Fifo<Batch>;
  claimed: number;
  /** Everything claimed whose outcome is not stored yet, in flight or not: id to number of the attempt. */
  readonly held: Map<string, number>;
  inFlight: number;
  claiming: boolean;
  /** A probe of it is being claimed or sent: a second lane of the same endpoint would not know what this one holds. */
  probing: boolean;
  /** Whether the last attempt succeeded. Only then is more claimed than can be sent at once. */
  healthy: boolean;
  /** False where the store is known to count no failure of it: a success then has nothing to reset. */
  failing: boolean;
  /** Failures so far, those of them that the store has, and those that the last claim took into account. */
  failures: number;
  committedFailures: number;
  confirmedFailures: number;
  /** Bytes of the largest body of the last claim. */
  bodyBytes: number;
}

export function createLane(endpointId: string, tenantId: string, limit: number): Lane {
  return {
    endpointId,
    tenantId,
    throttle: createThrottle(limit),
    target: null,
    dueAt: Number.POSITIVE_INFINITY,
    batches: createFifo(),
    claimed: 0,
    held: new Map(),
    inFlight: 0,
    claiming: false,
    probing: false,
    healthy: false,
    failing: true,
    failures: 0,
    committedFailures: 0,
    confirmedFailures: 0,
    bodyBytes: 0,
  };
}

/** True while a failure may have paused the endpoint without us knowing: the store decides that at commit. */
export function isDoubtful(lane: Lane): boolean {
  return lane.failures !== lane.confirmedFailures;
}

/** How many more deliveries a claim should bring, within the throttle's room. */
export function demandOf(lane: Lane, now: number): number {
  const ahead = lane.healthy ? Math.min(AHEAD, Math.floor(AHEAD_BYTES / Math.max(lane.bodyBytes, 1))) : 0;
  const room = IN_FLIGHT_PER_ENDPOINT - lane.inFlight + ahead;
  // Before the first claim the endpoint's own limit is not known: the throttle then stands at the default.
  return Math.max(0, Math.min(room, lane.throttle.room(now)) - lane.claimed);
}

/** True where a claim is worth its while: half of what was claimed ahead is used up, or the lane must be confirmed. */
export function isHungry(lane: Lane, wallNow: number, now: number): boolean {
  const due = lane.dueAt <= wallNow;
  // The endpoint's own limit and state come with the first claim, be it of nothing.
  if (lane.claiming || lane.target === null) return due && !lane.claiming;
  if (isDoubtful(lane)) return lane.failures === lane.committedFailures && (due || lane.claimed > 0);
  return due && lane.claimed <= AHEAD / 2 && demandOf(lane, now) > 0;
}

/** What the lane holds, as a claim wants to know it. */
export function heldBy(lane: Lane): HeldAttempt[] {
  return Array.from(lane.held, ([id, attempt]) => ({ id, attempt }));
}

/** Adds what a claim brought, to be sent before `until` (monotonic milliseconds). */
export function addClaimed(lane: Lane, { deliveries, release }: LaneClaim, until: number): void {
  if (deliveries.length === 0) return;
  lane.batches.push({ deliveries, next: 0, until, release });
  lane.claimed += deliveries.length;
  lane.bodyBytes = 0;
  for (const { id, attempt, start, end } of deliveries) {
    lane.held.set(id, attempt);
    lane.bodyBytes = Math.max(lane.bodyBytes, end - start);
  }
}

/** Takes the next claimed delivery; null where none is left whose lease is long enough. */
export function takeClaimed(lane: Lane, now: number): ClaimedDelivery | null {
  for (let batch = lane.batches.peek(); batch !== undefined; batch = lane.batches.peek()) {
    const delivery = now <= batch.until ? batch.deliveries[batch.next] : undefined;
    if (delivery !== undefined) {
      batch.next++;
      lane.claimed--;
      return delivery;
    }
    giveBack(lane, batch);
    lane.batches.shift();
  }
  return null;
}

/** Gives back what was claimed and not sent: the next claim may bring it again, where it is still due then. */
export function dropClaimed(lane: Lane): void {
  for (let batch = lane.batches.shift(); batch !== undefined; batch = lane.batches.shift())
    giveBack(lane, batch);
}

function giveBack(lane: Lane, { deliveries, next, release }: Batch): void {
  for (const { id } of deliveries.slice(next)) lane.held.delete(id);
  lane.claimed -= deliveries.length - next;
  release();
}
