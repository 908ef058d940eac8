import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { createAlarms } from './alarms.ts';
import { Lane } from './lane.ts';
import { createFairQueue, type FairQueue, type Health, type Slots } from './slots.ts';
import type { LaneTarget } from './target.ts';

/** Endpoints without a lane that are kept ready to send to; their version is looked at in each commit. */
const MAX_TARGETS = 10_000;

/** Every lane that holds something, in line for what it can do now or with an alarm for when it can. */
export interface Agenda {
  /** Lanes that may send, by what their next request counts as. */
  readonly toSend: Readonly<Record<Health, FairQueue<Lane>>>;
  /** Lanes that want a claim. */
  readonly toClaim: FairQueue<Lane>;
  /** An endpoint's lane, made where there is none; `tenantId` is empty where the caller does not know it. */
  lane(endpointId: string, tenantId: string): Lane;
  /** Puts a lane in line, after whatever happened to it. `now` (monotonic) and `wallNow` spare reading the clock. */
  consider(lane: Lane, now?: number, wallNow?: number): void;
  /** Work for this endpoint is due at `dueAt` (Unix milliseconds). */
  due(endpointId: string, tenantId: string, dueAt: number): void;
  /** The endpoint was changed: its copy is dropped with what was claimed by it, so that nothing more is sent by it. */
  changed(endpointId: string): void;
  /** Nothing that was claimed so far is sent. */
  giveBackAll(): void;
  /** Wall time jumped: what is due moves along. */
  shift(deltaMs: number): void;
  /** Endpoints with work that waits for nothing but their throttle. */
  throttled(): number;
  /** No alarm rings any more. */
  stop(): void;
}

/**
 * Only a lane that something happens to is looked at, and only an alarm that is due: 100,000 lanes that wait cost a
 * delivery of a busy one nothing (`npm run bench -- lanes`). A lane that holds nothing is forgotten when its throttle is.
 */
export function createAgenda(deps: { clock: Clock; slots: Slots; wakeUp: WakeUp }): Agenda {
  const { clock, slots, wakeUp } = deps;
  const lanes = new Map<string, Lane>();
  const targets = new LRUCache<string, LaneTarget>({ max: MAX_TARGETS });
  const toSend = {
    proven: createFairQueue<Lane>(),
    first: createFairQueue<Lane>(),
    further: createFairQueue<Lane>(),
  };
  const toClaim = createFairQueue<Lane>();
  const alarms = createAlarms<Lane>(clock, (due) => {
    for (const lane of due) consider(lane);
    wakeUp.soon();
  });

  function lane(endpointId: string, tenantId: string): Lane {
    let found = lanes.get(endpointId);
    if (found === undefined) {
      found = new Lane(endpointId, tenantId, targets.get(endpointId) ?? null);
      targets.delete(endpointId);
      lanes.set(endpointId, found);
    }
    if (tenantId !== '') found.belongTo(tenantId);
    return found;
  }

  function consider(lane: Lane, now = clock.monotonic(), wallNow = clock.now()): void {
    const { health } = lane;
    if (lane.maySend(now, slots.perEndpoint(health))) toSend[health].add(lane);
    if (lane.wantsClaim(now, wallNow)) toClaim.add(lane);
    const lookAt = lane.nextLookAt(now, wallNow);
    alarms.set(lane.alarm, lookAt);
    if (lane.isForgettable(now) && lanes.get(lane.endpointId) === lane) forget(lane);
  }

  function forget({ endpointId, target }: Lane): void {
    lanes.delete(endpointId);
    if (target !== null) targets.set(endpointId, target);
  }

  return {
    toSend,
    toClaim,
    lane,
    consider,
    due(endpointId, tenantId, dueAt) {
      const found = lane(endpointId, tenantId);
      found.workIsDue(dueAt);
      consider(found);
    },
    changed(endpointId) {
      const found = lane(endpointId, ''); // one that waited through a long pause was forgotten meanwhile
      found.dropCopy(clock.now());
      consider(found);
      wakeUp.soon();
    },
    giveBackAll() {
      const now = clock.now();
      for (const lane of lanes.values()) {
        if (!lane.giveBack(now)) continue;
        consider(lane);
      }
      wakeUp.soon();
    },
    shift(deltaMs) {
      for (const lane of lanes.values()) lane.shiftDue(deltaMs);
    },
    throttled() {
      const [now, wallNow] = [clock.monotonic(), clock.now()];
      let count = 0;
      for (const lane of lanes.values()) if (lane.isThrottled(now, wallNow)) count++;
      return count;
    },
    stop: alarms.stop,
  };
}

/** Tells the scheduler that something may be sent or claimed now. */
export interface WakeUp {
  /** Once for all that is asked for in a turn of the event loop. */
  soon(): void;
  /** At once, where nothing was asked for in this turn yet: for work that came from elsewhere than a connection. */
  atOnce(): void;
  listen(answer: () => void): void;
}

/**
 * After the current turn of the event loop. undici takes a connection back only after an immediate of its own, so that
 * sending at once would open a new connection for every reply.
 */
export function createWakeUp(): WakeUp {
  /** Asked for in this turn; whether it is still to be answered. */
  let asked = false;
  let unanswered = false;
  let answer = () => {};

  function endTurn(): void {
    asked = false;
    if (!unanswered) return;
    unanswered = false;
    answer();
  }

  function soon(): void {
    unanswered = true;
    if (asked) return;
    asked = true;
    setImmediate(endTurn);
  }

  return {
    soon,
    atOnce() {
      if (asked) {
        soon();
        return;
      }
      asked = true;
      setImmediate(endTurn);
      answer();
    },
    listen(listener) {
      answer = listener;
    },
  };
}
