import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import { createFairQueue } from './queues.ts';
import { createReleases } from './yielding.ts';

/**
 * An owner rests for many times as long as its tasks took, up to a maximum: others go first, and if a task was slow, it counts as slow
 * for as long. With ten times, ten owners of costly tasks had each rested when it was their turn again.
 */
const [REST_FACTOR, MAX_REST_MS] = [100, 5 * 60_000];
/** The assumed rest of an owner without a task so far: nobody knows how long its first one takes. */
const UNKNOWN_REST_MS = 1_000;
const MOST_KNOWN = 10_000;

/** A place, while a task has it. */
export interface Place {
  /**
   * The task begins only now: before, it waited for something else. `giveWay`, if given, ends a slow task for an owner that is
   * not slow; it may be run again.
   */
  begins(giveWay?: () => void): void;
}

/** Places that owners share, for tasks of which some take long. */
export interface Places {
  /**
   * Runs a task once there is a place. The owner that has used places least is next, quick known ones before new ones. An owner gets
   * a further place only if more places than it already has stay free. Owners of slow tasks leave one place to the others.
   */
  run<T>(owner: string, work: (place: Place) => Promise<T>): Promise<T>;
  /** Counts time that a task of an owner is going to take. */
  tire(owner: string, ms: number): void;
  isSlow(owner: string): boolean;
}

interface Taken {
  owner: string;
  since: number;
  isSlow: boolean;
  giveWay: (() => void) | null;
  isLeaving: boolean;
}

/** `slowMs`: a task that takes this long is slow, and for a while, its owner. */
export function createPlaces(
  clock: Pick<Clock, 'monotonic' | 'after'>,
  { most, slowMs }: { most: number; slowMs: number },
): Places {
  const waiting = createFairQueue<() => void>();
  const taken = new Set<Taken>();
  /** Each beginning compares all waiting owners: four thousand tasks that ended at once took 1.6 s in one turn of the event loop. */
  const release = createReleases();
  /** Until when each owner rests, in monotonic time. */
  const restsUntil = new LRUCache<string, number>({ max: MOST_KNOWN });
  const slowUntil = new LRUCache<string, number>({ max: MOST_KNOWN });

  function restMs(owner: string): number {
    const until = restsUntil.get(owner);
    return until === undefined ? UNKNOWN_REST_MS : Math.max(0, until - clock.monotonic());
  }

  function tire(owner: string, ms: number): void {
    const now = clock.monotonic();
    const until = Math.max(now, restsUntil.get(owner) ?? 0) + REST_FACTOR * ms;
    restsUntil.set(owner, Math.min(until, now + MAX_REST_MS));
    if (ms < slowMs) return;
    const restMs = Math.min(REST_FACTOR * ms, MAX_REST_MS);
    slowUntil.set(owner, Math.max(slowUntil.get(owner) ?? 0, now + restMs));
  }

  function isLong({ isSlow, since }: Taken): boolean {
    return isSlow || clock.monotonic() - since >= slowMs;
  }

  function isSlow(owner: string): boolean {
    if ((slowUntil.get(owner) ?? 0) > clock.monotonic()) return true;
    for (const task of taken) if (task.owner === owner && isLong(task)) return true;
    return false;
  }

  function rank(owner: string): number | null {
    const free = most - taken.size;
    let own = 0;
    for (const task of taken) if (task.owner === owner) own++;
    if (own > 0 && own + 1 >= free) return null;
    return free > 1 || !isSlow(owner) ? restMs(owner) : null;
  }

  function begin(): void {
    while (taken.size < most) {
      const next = waiting.next(rank);
      if (next === undefined) return;
      next();
    }
    makeRoom();
  }

  /** Slow owners were not known to be slow when they took all places. If another one waits, the latest long task gives way. */
  function makeRoom(): void {
    const tasks = [...taken];
    if (tasks.length < most || tasks.some(({ owner, isLeaving }) => isLeaving || !isSlow(owner))) return;
    if (!waiting.has((owner) => (isSlow(owner) ? null : 0))) return;
    const latest = tasks.findLast((task) => task.giveWay !== null && isLong(task));
    if (latest === undefined) return;
    latest.isLeaving = true;
    tire(latest.owner, MAX_REST_MS / REST_FACTOR); // its task, which is run again, does not get the last place
    latest.giveWay?.();
  }

  function take(owner: string): { place: Place; leave(): void } {
    const task: Taken = { owner, since: clock.monotonic(), isSlow: false, giveWay: null, isLeaving: false };
    taken.add(task);
    let timer: ReturnType<Clock['after']> | null = null;
    return {
      place: {
        begins(giveWay) {
          task.since = clock.monotonic();
          if (giveWay === undefined) return;
          task.giveWay = giveWay;
          timer = clock.after(slowMs, () => {
            task.isSlow = true; // timers may fire a bit early
            makeRoom();
          });
        },
      },
      leave() {
        timer?.cancel();
        taken.delete(task);
        tire(owner, clock.monotonic() - task.since);
        waiting.letOthers(owner);
        release(begin);
      },
    };
  }

  return {
    async run(owner, work) {
      const { place, leave } = await new Promise<ReturnType<typeof take>>((resolve) => {
        waiting.push(owner, () => resolve(take(owner)));
        begin();
      });
      try {
        return await work(place);
      } finally {
        leave();
      }
    },
    tire,
    isSlow,
  };
}
