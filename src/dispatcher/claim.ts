import type { Clock } from '../lib/clock.ts';
import type { LaneClaim, LaneDemand } from '../store/delivery-store.ts';
import type { Store } from '../store/store.ts';
import type { Attempts } from './attempt.ts';
import type { DispatcherLog } from './dispatcher.ts';
import { addClaimed, demandOf, dropClaimed, heldBy, isHungry, type Lane } from './lanes.ts';
import { leaseEnd, WAIT_MS } from './leases.ts';
import type { Turns } from './turns.ts';

/** One claim's size: about 6 ms of the store's writer (12 µs a delivery), so that nobody else waits longer for their commit. */
const CLAIM_LIMIT = 512;
const CLAIMS_AT_ONCE = 2;
const PAUSE_AFTER_FAULT_MS = 1_000;

/** Fills lanes from the store. */
export interface Claimer {
  /** Claims for lanes whose turn it is, unless enough claims are under way. Never throws, never waits. */
  run(): void;
}

export interface ClaimerParts {
  store: Store;
  clock: Clock;
  /** Names this process's leases. */
  leaseToken: string;
  attempts: Attempts;
  log: DispatcherLog;
  turns: Turns<Lane>;
  /** Called for each lane after a claim, when what it holds may have changed. */
  onClaimed(lane: Lane): void;
  /** Called once all lanes of a claim were told. */
  onDone(): void;
}

/**
 * One store call serves many lanes, and calls overlap with sending: while one waits for its commit, lanes live on what
 * they have, and those that run low meanwhile share the next call.
 */
export function createClaimer(parts: ClaimerParts): Claimer {
  const { store, clock, turns, log } = parts;
  let running = 0;
  let paused = false;

  function run(): void {
    while (running < CLAIMS_AT_ONCE && !paused) {
      const claim = gather();
      if (claim.lanes.length === 0) return;
      running++;
      void fill(claim.lanes, claim.demands);
    }
  }

  function gather(): { lanes: Lane[]; demands: LaneDemand[] } {
    const now = clock.monotonic();
    const wallNow = clock.now();
    const lanes: Lane[] = [];
    const demands: LaneDemand[] = [];
    // Alike for all that wait: a few full lanes beside empty ones would send bursts, each over more connections of its own.
    const share = Math.ceil(CLAIM_LIMIT / Math.max(1, turns.size));
    for (let left = CLAIM_LIMIT; left > 0; ) {
      const lane = turns.next();
      if (lane === null) break;
      if (!isHungry(lane, wallNow, now)) continue;
      const limit = Math.min(left, share, demandOf(lane, now));
      lane.claiming = true;
      lane.dueAt = Number.POSITIVE_INFINITY; // work that is stored from here on sets it anew
      lanes.push(lane);
      const knownVersion = lane.target?.endpoint.version ?? -1;
      demands.push({ endpointId: lane.endpointId, limit, knownVersion, held: heldBy(lane) });
      left -= Math.max(1, limit);
    }
    return { lanes, demands };
  }

  async function fill(lanes: Lane[], demands: LaneDemand[]): Promise<void> {
    const now = clock.now();
    const until = clock.monotonic() + WAIT_MS;
    const seen = lanes.map((lane) => lane.committedFailures);
    try {
      const claims = await store.claimDeliveries({
        lanes: demands,
        now,
        leaseUntil: leaseEnd(now),
        leaseToken: parts.leaseToken,
      });
      const byEndpoint = new Map(claims.map((claim) => [claim.endpointId, claim]));
      for (const [index, lane] of lanes.entries()) {
        const claim = byEndpoint.get(lane.endpointId);
        lane.confirmedFailures = seen[index] ?? 0;
        if (claim !== undefined) accept(lane, claim, until);
      }
    } catch (error) {
      log.warn({ err: error, lanes: lanes.length }, 'deliveries could not be claimed; trying again');
      for (const lane of lanes) lane.dueAt = Math.min(lane.dueAt, now);
      pause();
    }
    running--;
    for (const lane of lanes) {
      lane.claiming = false;
      parts.onClaimed(lane);
    }
    parts.onDone();
  }

  function pause(): void {
    if (paused) return;
    paused = true;
    clock.after(PAUSE_AFTER_FAULT_MS, () => {
      paused = false;
      parts.onDone();
    });
  }

  function accept(lane: Lane, claim: LaneClaim, until: number): void {
    if (claim.nextDueAt !== null) lane.dueAt = Math.min(lane.dueAt, claim.nextDueAt);
    if (claim.endpoint === 'gone') {
      lane.target = null;
      dropClaimed(lane);
      return;
    }
    if (claim.endpoint !== null) {
      lane.target = parts.attempts.prepare(claim.endpoint);
      lane.throttle.setLimit(claim.endpoint.settings.rate_limit_per_minute);
      const counted = claim.endpoint.consecutiveFailures + lane.failures - lane.confirmedFailures;
      if (counted === 0) lane.failing = false;
    }
    addClaimed(lane, claim, until);
  }

  return { run };
}
