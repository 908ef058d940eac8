import type { Clock } from '../lib/clock.ts';
import { type BodyBytes, type ClaimedDelivery, toBodyBytes } from '../model/delivery.ts';
import type { BodyTail, RoutedEvent } from '../model/event.ts';
import type { LaneDemand } from '../store/delivery-store.ts';
import type { Store } from '../store/store.ts';
import type { Reserve } from '../webhooks/signal-commits.ts';
import type { Agenda, WakeUp } from './agenda.ts';
import type { ClaimedBytes } from './claimed-bytes.ts';
import { CLAIM_KINDS, type Lane } from './lane.ts';
import type { Log } from './recorder.ts';
import type { PrepareTarget } from './target.ts';
import { WINDOW_MS } from './throttle.ts';

/**
 * Size of one claim. It takes the store's writer about 6 ms (12 µs per delivery), which is the longest that
 * it delays other commits.
 */
const CLAIM_LIMIT = 512;
/**
 * The cost of each lane in it, in deliveries: a claim for 512 lanes with one delivery each took 32 ms and more. With hundreds of
 * lanes, others wait less, and as much is delivered.
 */
const LANE_COST = 2;
const CLAIMS_AT_ONCE = 2;
const PAUSE_AFTER_FAULT_MS = 1_000;

/** Fills lanes with deliveries from the store. */
export interface Claimer {
  /** Claims for the next lanes, unless enough claims are in progress. Never throws, never waits. */
  run(): void;
}

export interface ClaimerDeps {
  store: Store;
  clock: Clock;
  /** Identifies the leases of this process. */
  leaseToken: string;
  prepare: PrepareTarget;
  agenda: Agenda;
  claimedBytes: ClaimedBytes;
  wakeUp: WakeUp;
  log: Log;
}

/** A claim for several lanes, in equal order. */
interface Claim {
  lanes: Lane[];
  demands: LaneDemand[];
  /** The expected size of the bodies, which counts as claimed until the claim returns. */
  expected: [tenantId: string, bytes: number][];
}

/**
 * One store call serves many lanes, and overlaps with sending: while it waits for its commit, lanes send what
 * they have, and lanes that run low meanwhile share the next call.
 */
export function createClaimer(deps: ClaimerDeps): Claimer {
  const { store, clock, agenda, claimedBytes, wakeUp, log } = deps;
  const mayClaim = {
    confirming: () => true,
    proven: claimedBytes.hasRoomFor,
    unproven: claimedBytes.hasRoomForUnproven,
  };
  let turn = 0;
  /** Size of the largest recent body: the largest of the last claim, or half the previous value. */
  let bodyBytes = 0;
  let running = 0;
  let paused = false;

  function run(): void {
    while (running < CLAIMS_AT_ONCE && !paused) {
      const claim = gather();
      if (claim.lanes.length === 0) return;
      running++;
      void fill(claim);
    }
  }

  function gather(): Claim {
    const now = clock.monotonic();
    const wallNow = clock.now();
    const lanes: Lane[] = [];
    const demands: LaneDemand[] = [];
    const expected: Claim['expected'] = [];
    // Shared equally: a few full lanes next to empty ones would send in bursts, over more connections.
    const waiting = CLAIM_KINDS.reduce((sum, kind) => sum + agenda.toClaim[kind].size, 0);
    const share = Math.ceil(CLAIM_LIMIT / Math.max(1, waiting));
    for (let left = CLAIM_LIMIT; left > 0; ) {
      const lane = next();
      if (lane === null) break;
      if (!lane.wantsClaim(now, wallNow)) continue;
      const limit = claimedBytes.hasRoomFor(lane.tenantId) ? Math.min(left, share, lane.demand(now)) : 0;
      lanes.push(lane);
      demands.push(lane.beginClaim(limit));
      const bytes = limit * (lane.bodyBytes || bodyBytes);
      claimedBytes.add(lane.tenantId, bytes);
      expected.push([lane.tenantId, bytes]);
      left -= Math.max(1, limit) + LANE_COST;
    }
    return { lanes, demands, expected };
  }

  /** The next lane whose tenant has room for what it claims; the kinds take turns. */
  function next(): Lane | null {
    for (let tries = 0; tries < CLAIM_KINDS.length; tries++) {
      const kind = CLAIM_KINDS[turn++ % CLAIM_KINDS.length] ?? 'confirming';
      const lane = agenda.toClaim[kind].next(mayClaim[kind]);
      if (lane !== null) return lane;
    }
    return null;
  }

  async function fill({ lanes, demands, expected }: Claim): Promise<void> {
    const now = clock.now();
    const asked = clock.monotonic();
    const { leaseToken } = deps;
    const terms = { now, leaseUntil: leaseEnd(now), leaseToken, recentSince: now - WINDOW_MS };
    try {
      const claims = await store.claimDeliveries({ lanes: demands, ...terms });
      const until = handLimit(asked, clock.monotonic());
      const sizes = claims.flatMap(({ deliveries }) => deliveries.map(({ start, end }) => end - start));
      bodyBytes = sizes.reduce((most, size) => Math.max(most, size), bodyBytes / 2);
      const byEndpoint = new Map(claims.map((claim) => [claim.endpointId, claim]));
      for (const lane of lanes) {
        const claim = byEndpoint.get(lane.endpointId);
        const changed = claim?.endpoint ?? null;
        const target = changed === null || changed === 'gone' ? null : deps.prepare(changed);
        if (claim?.recent !== undefined) lane.wasSentTo(claim.recent, asked - now);
        if (claim === undefined) lane.claimFailed(now);
        else lane.endClaim(claim, target, until);
      }
    } catch (error) {
      log.warn({ err: error, lanes: lanes.length }, 'deliveries could not be claimed; trying again');
      for (const lane of lanes) lane.claimFailed(now);
      pause();
    }
    running--;
    for (const [tenantId, bytes] of expected) claimedBytes.add(tenantId, -bytes);
    for (const lane of lanes) agenda.consider(lane);
    wakeUp.soon();
  }

  function pause(): void {
    if (paused) return;
    paused = true;
    clock.after(PAUSE_AFTER_FAULT_MS, () => {
      paused = false;
      wakeUp.soon();
    });
  }

  return { run };
}

/** Maximum timeout of an endpoint. */
const LONGEST_ATTEMPT_MS = 30_000;
/** A lease covers the wait for a turn, the longest attempt, and its commit. */
const LEASE_MS = LONGEST_ATTEMPT_MS + 30_000;
/** Extra length of a lease, so that it is not renewed for each event. */
const SPARE_MS = 15_000;

/** Maximum wait of a claimed delivery for its turn; after that, the attempt could outlive the lease. */
export const WAIT_MS = 20_000;

/**
 * Until when a claimed delivery may wait, in monotonic time. The wait starts when the claim returns, as long
 * as the spare time of the lease covers the claim's wait for the writer.
 */
export function handLimit(askedAt: number, answeredAt: number): number {
  return Math.min(answeredAt, askedAt + SPARE_MS) + WAIT_MS;
}

/** The end of a lease taken at `now`, Unix milliseconds. */
export function leaseEnd(now: number): number {
  return now + LEASE_MS + SPARE_MS;
}

/** The earliest acceptable end of the lease for deliveries taken at `now`, Unix milliseconds. */
export function leaseNeeded(now: number): number {
  return now + LEASE_MS;
}

/** Wraps a store so that claimed deliveries include the trace of their event. Used only if tracing is on. */
export function withTraces(store: Store): Store {
  async function fill(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    // A missing trace must not delay a delivery, let alone make it fail.
    const traces = await store.tracesOf(deliveries.map(({ id }) => id)).catch(() => []);
    const byId = new Map(traces);
    for (const delivery of deliveries) delivery.trace = byId.get(delivery.id) ?? null;
  }
  return {
    ...store,
    async claimDeliveries(request) {
      const claims = await store.claimDeliveries(request);
      await fill(claims.flatMap(({ deliveries }) => deliveries));
      return claims;
    },
    async claimProbe(request) {
      const probe = await store.claimProbe(request);
      if (probe !== null) await fill([probe.delivery]);
      return probe;
    },
  };
}

export interface ReserveDeps {
  clock: Clock;
  agenda: Agenda;
  claimedBytes: ClaimedBytes;
  wakeUp: WakeUp;
  leaseToken: string;
}

/**
 * Reserves new deliveries while they are being stored, so they need no claim: for lanes with free capacity
 * and nothing waiting.
 */
export function createReserve({ clock, agenda, claimedBytes, wakeUp, leaseToken }: ReserveDeps): Reserve {
  return (events) => {
    const now = clock.now();
    const since = clock.monotonic();
    const reserved: { lane: Lane; deliveries: ClaimedDelivery[] }[] = [];
    const lanes = [];
    for (const [lane, all] of byLane(agenda, events)) {
      if (!claimedBytes.hasRoomForUnproven(lane.tenantId)) continue;
      // A request that is retried after a crash contains deliveries that its first run stored. One of them
      // may be in flight from a claim, and releasing its reservation would make it claimable a second time.
      const fresh = all.filter(({ id }) => !lane.holds(id));
      const deliveries = fresh.slice(0, lane.roomFor(fresh.length, since, now));
      if (deliveries.length === 0) continue;
      reserved.push({ lane, deliveries });
      lanes.push(lane.reserve(deliveries.map(({ id }) => id)));
    }
    if (reserved.length === 0) return null;
    return {
      taking: { lanes, now, leaseUntil: leaseEnd(now), renewBefore: leaseNeeded(now), leaseToken },
      settle(taken) {
        for (const { lane, deliveries } of reserved) {
          lane.settle(deliveries, taken, since + WAIT_MS);
          agenda.consider(lane);
        }
        wakeUp.atOnce(); // before the response to the request, which receivers need not wait for
      },
    };
  };
}

/**
 * Larger bodies wait for a claim, which is limited to what a lane may hold: the bodies of a batch would fill
 * the memory before the commit decides which of them are sent.
 */
const MOST_BYTES = 65_536;

/** Deliveries in the form of a claim. Endpoints with equal bodies share the bytes. */
function byLane(agenda: Agenda, events: readonly RoutedEvent[]): Map<Lane, ClaimedDelivery[]> {
  const lanes = new Map<Lane, ClaimedDelivery[]>();
  let last = { body: '', hash: '', bytes: toBodyBytes('') };
  const bytesOf = (body: string, tail: BodyTail | undefined): BodyBytes => {
    const { hash = '', text = '' } = tail ?? {};
    if (body !== last.body || hash !== last.hash) last = { body, hash, bytes: toBodyBytes(body + text) };
    return last.bytes;
  };
  for (const { event, deliveries } of events) {
    for (const { id, endpointId, body, tail, status } of deliveries) {
      if (status !== 'pending' || body.length + (tail?.bytes ?? 0) > MOST_BYTES) continue;
      const lane = agenda.lane(endpointId, event.tenantId);
      const delivery: ClaimedDelivery = {
        id,
        attempt: 1,
        attemptsInCycle: 0,
        eventType: event.type,
        ...bytesOf(body, tail),
      };
      if (event.trace != null) delivery.trace = event.trace;
      const others = lanes.get(lane);
      if (others === undefined) lanes.set(lane, [delivery]);
      else others.push(delivery);
    }
  }
  return lanes;
}
