import type { Clock } from '../lib/clock.ts';
import type { ClaimedDelivery } from '../model/delivery.ts';
import type { LaneDemand } from '../store/delivery-store.ts';
import type { Store } from '../store/store.ts';
import type { Agenda } from './agenda.ts';
import type { Lane } from './lane.ts';
import type { Log } from './recorder.ts';
import type { PrepareTarget } from './target.ts';
import type { WakeUp } from './wake-up.ts';

/** One claim's size: about 6 ms of the store's writer (12 µs a delivery), so that no other change waits longer for its commit. */
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
  prepare: PrepareTarget;
  agenda: Agenda;
  wakeUp: WakeUp;
  log: Log;
}

/**
 * One store call serves many lanes, and calls overlap with sending: while one waits for its commit, lanes live on what
 * they have, and those that run low meanwhile share the next call.
 */
export function createClaimer(parts: ClaimerParts): Claimer {
  const { store, clock, agenda, wakeUp, log } = parts;
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
    const share = Math.ceil(CLAIM_LIMIT / Math.max(1, agenda.toClaim.size));
    for (let left = CLAIM_LIMIT; left > 0; ) {
      const lane = agenda.toClaim.next();
      if (lane === null) break;
      if (!lane.wantsClaim(now, wallNow)) continue;
      const limit = Math.min(left, share, lane.demand(now));
      lanes.push(lane);
      demands.push(lane.beginClaim(limit));
      left -= Math.max(1, limit);
    }
    return { lanes, demands };
  }

  async function fill(lanes: Lane[], demands: LaneDemand[]): Promise<void> {
    const now = clock.now();
    const asked = clock.monotonic();
    const terms = { now, leaseUntil: leaseEnd(now), leaseToken: parts.leaseToken };
    try {
      const claims = await store.claimDeliveries({ lanes: demands, ...terms });
      const until = handLimit(asked, clock.monotonic());
      const byEndpoint = new Map(claims.map((claim) => [claim.endpointId, claim]));
      for (const lane of lanes) {
        const claim = byEndpoint.get(lane.endpointId);
        const changed = claim?.endpoint ?? null;
        const target = changed === null || changed === 'gone' ? null : parts.prepare(changed);
        if (claim === undefined) lane.claimFailed(now);
        else lane.endClaim(claim, target, until);
      }
    } catch (error) {
      log.warn({ err: error, lanes: lanes.length }, 'deliveries could not be claimed; trying again');
      for (const lane of lanes) lane.claimFailed(now);
      pause();
    }
    running--;
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

/** The longest timeout of an endpoint. */
const LONGEST_ATTEMPT_MS = 30_000;
/** A lease holds the wait for a turn, the longest attempt, and its commit. */
const LEASE_MS = LONGEST_ATTEMPT_MS + 30_000;
/** What a lease has beside, so that it is not written anew for each event. */
const SPARE_MS = 15_000;

/** How long a claimed delivery may wait for its turn; later the attempt could outlive the lease. */
export const WAIT_MS = 20_000;

/**
 * Until when what was claimed may wait, monotonic: the wait counts from the claim's answer, as far as the lease's spare time
 * makes up for what the claim itself waited for the writer.
 */
export function handLimit(askedAt: number, answeredAt: number): number {
  return Math.min(answeredAt, askedAt + SPARE_MS) + WAIT_MS;
}

/** When a lease taken at `now` runs out, Unix milliseconds. */
export function leaseEnd(now: number): number {
  return now + LEASE_MS + SPARE_MS;
}

/** Until when a lease has to last for what is taken at `now`, Unix milliseconds. */
export function leaseNeeded(now: number): number {
  return now + LEASE_MS;
}

/** The same store, whose claimed deliveries know the trace that their event came from. Only where something is traced. */
export function withTraces(store: Store): Store {
  async function fill(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    // A trace is no reason to keep a delivery waiting, let alone to fail.
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
