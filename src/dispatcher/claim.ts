import type { Clock } from '../lib/clock.ts';
import { type BodyBytes, type ClaimedDelivery, toBodyBytes } from '../model/delivery.ts';
import type { BodyTail, RoutedEvent } from '../model/event.ts';
import type { LaneDemand } from '../store/delivery-store.ts';
import type { Store } from '../store/store.ts';
import type { Reserve } from '../webhooks/fan-out.ts';
import type { Agenda, WakeUp } from './agenda.ts';
import type { Lane } from './lane.ts';
import type { Log } from './recorder.ts';
import type { PrepareTarget } from './target.ts';
import { WINDOW_MS } from './throttle.ts';

/** One claim's size: about 6 ms of the store's writer (12 µs a delivery), so that no other change waits longer for its commit. */
const CLAIM_LIMIT = 512;
const CLAIMS_AT_ONCE = 2;
const PAUSE_AFTER_FAULT_MS = 1_000;

/** Fills lanes from the store. */
export interface Claimer {
  /** Claims for lanes whose turn it is, unless enough claims are under way. Never throws, never waits. */
  run(): void;
}

export interface ClaimerDeps {
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
export function createClaimer(deps: ClaimerDeps): Claimer {
  const { store, clock, agenda, wakeUp, log } = deps;
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
    const { leaseToken } = deps;
    const terms = { now, leaseUntil: leaseEnd(now), leaseToken, recentSince: now - WINDOW_MS };
    try {
      const claims = await store.claimDeliveries({ lanes: demands, ...terms });
      const until = handLimit(asked, clock.monotonic());
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

export interface ReserveDeps {
  clock: Clock;
  agenda: Agenda;
  wakeUp: WakeUp;
  leaseToken: string;
}

/** Deliveries born in hand: a lane with room and nothing waiting before them takes them on while they are being stored. */
export function createReserve({ clock, agenda, wakeUp, leaseToken }: ReserveDeps): Reserve {
  return (events) => {
    const now = clock.now();
    const since = clock.monotonic();
    const reserved: { lane: Lane; deliveries: ClaimedDelivery[] }[] = [];
    const lanes = [];
    for (const [lane, all] of byLane(agenda, events)) {
      // A request that is run again after a crash brings the deliveries that its first run stored: one of them may be on the
      // wire by now, from a claim, and giving up its reservation would make it claimable a second time.
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
        wakeUp.atOnce(); // before the request is answered, which the receivers need not wait for
      },
    };
  };
}

/**
 * A larger body waits for a claim, which brings as many as a lane may hold: those of a batch would fill the memory before their
 * commit says which of them are sent.
 */
const MOST_BYTES = 65_536;

/** Deliveries as a claim would bring them. Endpoints that get the same text share its bytes. */
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
