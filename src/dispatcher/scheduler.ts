import type { Clock, Timer } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { AttemptRecord, ClaimedDelivery, Outcome } from '../model/delivery.ts';
import { DEFAULT_RATE_LIMIT_PER_MINUTE } from '../model/webhook.ts';
import type { Attempts, LaneTarget } from './attempt.ts';
import type { Claimer } from './claim.ts';
import type { Commit } from './commit.ts';
import { Job, type JobOwner, type JobTerms } from './job.ts';
import { createLane, dropClaimed, isDoubtful, isHungry, type Lane, takeClaimed } from './lanes.ts';
import { decide } from './outcome.ts';
import { createPlaces } from './places.ts';
import type { SendResult } from './send.ts';
import type { Turns } from './turns.ts';

/** Outcomes that wait for their commit before sending pauses. */
const MAX_UNCOMMITTED = 2_048;
/** The timer's grain: many lanes falling due within it are woken by one sweep. */
const WAKE_GRAIN_MS = 5;
/** setTimeout's own limit is 2^31 − 1; waking once a day to look changes nothing. */
const MAX_TIMER_MS = 86_400_000;

/** Decides who sends when. All of it is synchronous bookkeeping; the waiting is done by others. */
export interface Scheduler {
  /** An endpoint's lane, made where there is none; `tenantId` is empty where the caller does not know it. */
  lane(endpointId: string, tenantId: string): Lane;
  /** Work for this endpoint is due at `dueAt` (Unix milliseconds). */
  due(endpointId: string, tenantId: string, dueAt: number): void;
  /** Looks whether the lane can do something now, and sees to it that it is looked at again when it can. */
  consider(lane: Lane): void;
  /** Sends what may be sent and claims what is wanted, soon. */
  wake(): void;
  /** Sends a paused endpoint's oldest delivery, where its throttle has room; resolves when the outcome is stored. */
  probe(lane: Lane, target: LaneTarget, delivery: ClaimedDelivery): Promise<void>;
  /** Runs `send` within the throttle and outside the queue; tells when there will be room where there is none. */
  outOfTurn<T>(
    lane: Lane,
    limit: number,
    send: () => Promise<T>,
  ): Promise<{ sent: T } | { retryAfterMs: number }>;
  /** The endpoint was changed: its copy is dropped with what was claimed by it, so that nothing more is sent by it. */
  changed(endpointId: string): void;
  /** Wall time jumped: what is due moves along. */
  shift(deltaMs: number): void;
  /** Forgets lanes that hold nothing. */
  prune(): void;
  /** Starts nothing any more; resolves when nothing is in flight and every outcome is stored. */
  drain(): Promise<void>;
}

export interface SchedulerParts {
  clock: Clock;
  random: Random;
  attempts: Attempts;
  commit: Commit;
  claimer: () => Claimer;
  toSend: Turns<Lane>;
  toClaim: Turns<Lane>;
}

export function createScheduler(parts: SchedulerParts): Scheduler {
  const { clock, attempts, toSend, toClaim } = parts;
  const lanes = new Map<string, Lane>();
  const places = createPlaces(clock, wake);
  let uncommitted = 0;
  let woken = false;
  let draining: (() => void) | null = null;
  let timer: Timer | null = null;
  let timerAt = Number.POSITIVE_INFINITY;
  const owner: JobOwner = { land, mayRepeat: ({ lane }) => lane.throttle.take(clock.monotonic()) };

  function lane(endpointId: string, tenantId: string): Lane {
    let found = lanes.get(endpointId);
    if (found === undefined) {
      found = createLane(endpointId, tenantId, DEFAULT_RATE_LIMIT_PER_MINUTE);
      lanes.set(endpointId, found);
    }
    if (tenantId !== '') found.tenantId = tenantId;
    return found;
  }

  function consider(lane: Lane, now = clock.monotonic(), wallNow = clock.now()): void {
    const hasRoom = lane.throttle.room(now) > 0;
    const sendable = lane.claimed > 0 && !isDoubtful(lane);
    if (sendable && hasRoom && lane.inFlight < places.perEndpoint()) toSend.add(lane);
    if (isHungry(lane, wallNow, now)) toClaim.add(lane);
    else if (lane.dueAt > wallNow) wakeAt(now + lane.dueAt - wallNow);
    if (!hasRoom && (lane.claimed > 0 || lane.dueAt <= wallNow)) wakeAt(lane.throttle.nextRoomAt(now));
  }

  /** One timer for all lanes, at the earliest moment that any of them has something to do. */
  function wakeAt(at: number): void {
    if (at >= timerAt || at === Number.POSITIVE_INFINITY || draining !== null) return;
    timer?.cancel();
    timerAt = at;
    timer = clock.after(Math.min(Math.max(at - clock.monotonic(), WAKE_GRAIN_MS), MAX_TIMER_MS), () => {
      timerAt = Number.POSITIVE_INFINITY;
      for (const lane of lanes.values()) consider(lane);
      wake();
    });
  }

  /**
   * After the current turn of the event loop, once for all that happened in it. undici takes a connection back only after an
   * immediate of its own, so that sending at once would open a new connection for every reply.
   */
  function wake(): void {
    if (woken || draining !== null) return;
    woken = true;
    setImmediate(pump);
  }

  function pump(): void {
    woken = false;
    if (draining !== null) return;
    // Read once a turn: two dozen readings a delivery would be a twentieth of its cost.
    const now = clock.monotonic();
    const wallNow = clock.now();
    while (toSend.size > 0 && uncommitted < MAX_UNCOMMITTED && !places.full()) {
      const lane = toSend.next();
      if (lane === null) break;
      sendOne(lane, now);
      consider(lane, now, wallNow);
    }
    parts.claimer().run();
  }

  function sendOne(lane: Lane, now: number): void {
    if (lane.target === null || isDoubtful(lane) || lane.inFlight >= places.perEndpoint()) return;
    if (lane.throttle.room(now) === 0) return;
    const delivery = takeClaimed(lane, now);
    if (delivery === null) return;
    lane.throttle.take(now); // at the moment of sending: a claim may wait for its turn
    lane.inFlight++;
    deliver({ lane, target: lane.target, delivery, probe: false, onLeft: null });
  }

  function deliver(terms: JobTerms): void {
    attempts.run(terms.target, terms.delivery, new Job(terms, places.take(), owner));
  }

  function land(job: Job, record: AttemptRecord, result: SendResult): void {
    const { lane, place } = job;
    if (result.cut) {
      freePlace(place);
      lane.dueAt = Math.min(lane.dueAt, clock.now()); // nothing is stored of it: it is still due
      leave(job);
      return;
    }
    const failed = result.error !== null;
    lane.healthy = !failed;
    if (failed) {
      lane.failures++;
      lane.failing = true;
    } else freePlace(place); // of all requests in flight: a commit should not hold up other endpoints
    const outcome = conclude(job, record, result);
    const failures = lane.failures;
    uncommitted++;
    parts.commit(outcome, (fate) => {
      uncommitted--;
      if (fate === 'kept') onKept(lane, outcome, failures);
      if (failed) {
        lane.committedFailures++;
        freePlace(place); // not before the commit, which is where the 20th failure pauses the endpoint
      }
      leave(job);
    });
  }

  function conclude(
    { lane, target, delivery, probe }: Job,
    record: AttemptRecord,
    result: SendResult,
  ): Outcome {
    const at = clock.now();
    const { next, gone, streak } = decide({
      result,
      settings: target.endpoint.settings,
      attemptsInCycle: delivery.attemptsInCycle,
      now: at,
      fraction: result.error === null ? 0 : parts.random.fraction(),
      probe,
    });
    return {
      deliveryId: delivery.id,
      endpointId: lane.endpointId,
      attempt: record,
      at,
      next,
      // Nothing to reset where the store is known to count no failure.
      streak: streak === 'reset' && !probe && !lane.failing ? 'keep' : streak,
      gone,
      probe,
    };
  }

  /** `failures` is what the lane had counted when the outcome was handed over. */
  function onKept(lane: Lane, { next, streak, probe, at }: Outcome, failures: number): void {
    if (streak === 'reset' && lane.failures === failures) lane.failing = false;
    if (next.status === 'retrying') lane.dueAt = Math.min(lane.dueAt, next.at);
    if (probe && next.status === 'delivered') lane.dueAt = Math.min(lane.dueAt, at); // it is active again
  }

  function freePlace(place: number): void {
    places.release(place);
    wake();
  }

  /** Only now, with its outcome stored: what a crash sends again is at most what an endpoint may have in flight. */
  function leave({ lane, delivery, onLeft }: Job): void {
    lane.inFlight--;
    lane.held.delete(delivery.id);
    consider(lane);
    wake();
    settled();
    onLeft?.();
  }

  function settled(): void {
    if (uncommitted === MAX_UNCOMMITTED - 1) wake();
    if (places.taken === 0 && uncommitted === 0) draining?.();
  }

  return {
    lane,
    consider,
    wake,
    async probe(lane, target, delivery) {
      const now = clock.monotonic();
      if (draining !== null || !lane.throttle.take(now)) return;
      lane.held.set(delivery.id, delivery.attempt);
      lane.inFlight++;
      await new Promise<void>((onLeft) => deliver({ lane, target, delivery, probe: true, onLeft }));
    },
    async outOfTurn(lane, limit, send) {
      const now = clock.monotonic();
      lane.throttle.setLimit(limit);
      if (!lane.throttle.take(now)) return { retryAfterMs: lane.throttle.nextRoomAt(now) - now };
      const place = places.take();
      try {
        return { sent: await send() };
      } finally {
        freePlace(place);
        settled();
      }
    },
    changed(endpointId) {
      const found = lanes.get(endpointId);
      if (found === undefined) return;
      dropClaimed(found);
      found.target = null;
      found.dueAt = Math.min(found.dueAt, clock.now());
      consider(found);
      wake();
    },
    shift(deltaMs) {
      for (const lane of lanes.values()) lane.dueAt += deltaMs;
    },
    due(endpointId, tenantId, dueAt) {
      const found = lane(endpointId, tenantId);
      found.dueAt = Math.min(found.dueAt, dueAt);
      consider(found);
    },
    prune() {
      const now = clock.monotonic();
      for (const lane of lanes.values()) if (isIdle(lane, now)) lanes.delete(lane.endpointId);
    },
    drain: () =>
      new Promise((resolve) => {
        draining = resolve;
        timer?.cancel();
        settled();
      }),
  };
}

function isIdle(lane: Lane, now: number): boolean {
  const busy = lane.claiming || lane.probing || lane.inFlight > 0 || lane.claimed > 0;
  return !busy && lane.dueAt === Number.POSITIVE_INFINITY && lane.throttle.idle(now);
}
