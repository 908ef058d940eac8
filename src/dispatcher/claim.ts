import type { Clock } from '../lib/clock.ts';
import type { LaneDemand } from '../store/delivery-store.ts';
import type { Store } from '../store/store.ts';
import type { Agenda } from './agenda.ts';
import type { Bell } from './bell.ts';
import type { DispatcherLog } from './dispatcher.ts';
import type { Lane } from './lane.ts';
import { handLimit, leaseEnd } from './leases.ts';
import type { PrepareTarget } from './target.ts';

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
  prepare: PrepareTarget;
  agenda: Agenda;
  bell: Bell;
  log: DispatcherLog;
}

/**
 * One store call serves many lanes, and calls overlap with sending: while one waits for its commit, lanes live on what
 * they have, and those that run low meanwhile share the next call.
 */
export function createClaimer(parts: ClaimerParts): Claimer {
  const { store, clock, agenda, bell, log } = parts;
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
    bell.ring();
  }

  function pause(): void {
    if (paused) return;
    paused = true;
    clock.after(PAUSE_AFTER_FAULT_MS, () => {
      paused = false;
      bell.ring();
    });
  }

  return { run };
}
