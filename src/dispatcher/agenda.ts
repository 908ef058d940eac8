import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { createYielder } from '../lib/yielding.ts';
import { createAlarms } from './alarms.ts';
import type { ClaimedBytes } from './claimed-bytes.ts';
import { type ClaimKind, Lane } from './lane.ts';
import { createFairQueue, type FairQueue, type Health, type Slots } from './slots.ts';
import type { LaneTarget } from './target.ts';

/**
 * Maximum number of endpoints without a lane whose prepared target is cached; claims check its version. And maximum size of their own
 * headers.
 */
const [MAX_TARGETS, MAX_TARGET_CHARS] = [10_000, 16 * 1_048_576];

/** Every lane with work: queued for what it can do now, or with an alarm for when it can. */
export interface Agenda {
  /** Lanes that may send, by the health of their next request. */
  readonly toSend: Readonly<Record<Health, FairQueue<Lane>>>;
  /** Lanes that need a claim, by what it is for. */
  readonly toClaim: Readonly<Record<ClaimKind, FairQueue<Lane>>>;
  /**
   * Returns the lane of an endpoint, creating it if necessary; `tenantId` is empty if the caller does not
   * know it.
   */
  lane(endpointId: string, tenantId: string): Lane;
  /** Queues a lane after any change of it. `now` (monotonic) and `wallNow` save reading the clock. */
  consider(lane: Lane, now?: number, wallNow?: number): void;
  /** Reports that work for an endpoint is due at `dueAt` (Unix milliseconds). */
  due(endpointId: string, tenantId: string, dueAt: number): void;
  /**
   * Reports a change of an endpoint: drops the cached copy and the deliveries claimed with it, so that no
   * further request uses it.
   */
  changed(endpointId: string): void;
  /** Gives up everything that is claimed and not sent yet, in turns of the event loop: for 200,000 endpoints it takes 0.18 s. */
  giveBackAll(): Promise<void>;
  /** Reports a jump of wall time: due times move along. */
  shift(deltaMs: number): void;
  /** Number of endpoints whose work waits only for their rate limit: counted in turns of the event loop, as 200,000 take 0.26 s. */
  throttled(): Promise<number>;
  /** Stops all alarms. */
  stop(): void;
}

export interface AgendaDeps {
  clock: Clock;
  slots: Slots;
  claimedBytes: ClaimedBytes;
  wakeUp: WakeUp;
}

/**
 * Only lanes that something happens to are examined, and only alarms that are due: 100,000 waiting lanes add
 * nothing to the cost of a delivery (`npm run bench -- lanes`). A lane without work is removed once its
 * throttle is empty.
 */
export function createAgenda({ clock, slots, claimedBytes, wakeUp }: AgendaDeps): Agenda {
  const lanes = new Map<string, Lane>();
  const targets = new LRUCache<string, LaneTarget>({
    max: MAX_TARGETS,
    maxSize: MAX_TARGET_CHARS,
    sizeCalculation: ({ ready }) => ready?.own.reduce((sum, { length }) => sum + length, 1) ?? 1,
  });
  const toSend = {
    proven: createFairQueue<Lane>(),
    first: createFairQueue<Lane>(),
    further: createFairQueue<Lane>(),
  };
  const toClaim = {
    confirming: createFairQueue<Lane>(),
    proven: createFairQueue<Lane>(),
    unproven: createFairQueue<Lane>(),
  };
  const alarms = createAlarms<Lane>(clock, (due) => {
    for (const lane of due) consider(lane);
    wakeUp.soon();
  });

  function lane(endpointId: string, tenantId: string): Lane {
    let found = lanes.get(endpointId);
    if (found === undefined) {
      found = new Lane(endpointId, tenantId, { target: targets.get(endpointId) ?? null, claimedBytes });
      targets.delete(endpointId);
      lanes.set(endpointId, found);
    }
    if (tenantId !== '') found.belongTo(tenantId);
    return found;
  }

  function consider(lane: Lane, now = clock.monotonic(), wallNow = clock.now()): void {
    const { health } = lane;
    if (lane.maySend(now, slots.perEndpoint(health, lane.tenantId))) toSend[health].add(lane);
    if (lane.wantsClaim(now, wallNow)) toClaim[lane.claimKind].add(lane);
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
      const found = lane(endpointId, ''); // a lane that waited through a long pause was removed meanwhile
      found.dropCopy(clock.now());
      consider(found);
      wakeUp.soon();
    },
    async giveBackAll() {
      const nextTurn = createYielder(clock);
      for (const lane of lanes.values()) {
        if (lane.giveBack(clock.now())) consider(lane);
        await nextTurn();
      }
      wakeUp.soon();
    },
    shift(deltaMs) {
      for (const lane of lanes.values()) lane.shiftDue(deltaMs);
    },
    async throttled() {
      const nextTurn = createYielder(clock);
      let count = 0;
      for (const lane of lanes.values()) {
        if (lane.isThrottled(clock.monotonic(), clock.now())) count++;
        await nextTurn();
      }
      return count;
    },
    stop: alarms.stop,
  };
}

/** Wakes the scheduler when something may be sent or claimed. */
export interface WakeUp {
  /** Runs once for all requests in a turn of the event loop. */
  soon(): void;
  /**
   * Runs immediately if nothing was requested in this turn yet. For work that does not come from a
   * connection.
   */
  atOnce(): void;
  listen(answer: () => void): void;
}

/**
 * Runs after the current turn of the event loop. undici releases a connection only in a later `setImmediate`,
 * so sending immediately would open a new connection for every response.
 */
export function createWakeUp(): WakeUp {
  /** Whether a wake-up was requested in this turn, and whether it is still pending. */
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
