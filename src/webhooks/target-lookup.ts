import { lookup as systemLookup } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import type { Clock, Timer } from '../lib/clock.ts';
import { createPlaces } from '../lib/places.ts';
import { createFifo, createLimits } from '../lib/queues.ts';
import { shared } from '../lib/yielding.ts';
import { createNamesThread, MOST_ADDRESSES } from './names-thread.ts';
import type { Lookup } from './targets.ts';

/**
 * Maximum number of concurrent look-ups with the system resolver, each of which occupies one of libuv's four
 * threads.
 */
const SYSTEM_LOOKUPS = 2;
/** Time after which a name counts as unresolvable, even if a server is still being queried. */
const GIVE_UP_MS = 8_000;

/** Maximum number of an owner's names that are looked up at once: answers with thousands of addresses take the thread time. */
const MOST_OF_OWNER = 4;
/** A name whose look-up took this long does not hold up other names of its owner the next time, nor those of other owners. */
const SLOW_MS = 1_000;
const MOST_SLOW = 1_000;

/** Resolvers of names; each rejects, or returns no addresses, for an unknown name. */
export interface Resolvers {
  /** Does not use one of libuv's threads. */
  direct(hostname: string): Promise<readonly string[]>;
  /** Occupies a thread for an unlimited time. */
  system(hostname: string): Promise<readonly string[]>;
}

/**
 * Creates the process's name resolution: c-ares first, and the system's resolver if that finds nothing (hosts
 * file, mDNS).
 *
 * If the servers of a name are dead, getaddrinfo occupies one of libuv's four threads for up to ten seconds:
 * four dead receivers would block the resolution of every healthy one, and all reading of files. c-ares needs
 * none of them, and looks up many names at once. Names that it does not find queue for `SYSTEM_LOOKUPS` threads,
 * so they delay only each other, and only until they time out. Owners take turns there, one name of each at a time, and those
 * whose names took long leave a thread to the others. Concurrent look-ups of a name by one owner share the result.
 */
export function createLookup(clock: Clock, resolvers: Resolvers = createResolvers()): Lookup {
  const deadline = createDeadline(clock);
  const viaSystemInTurn = createPlaces(clock, { most: SYSTEM_LOOKUPS, slowMs: SLOW_MS });
  const underWay = new Map<string, Promise<readonly string[]>>();
  const inTurn = createLimits(MOST_OF_OWNER);
  const slow = new LRUCache<string, true>({ max: MOST_SLOW });

  async function viaCares(hostname: string): Promise<readonly string[]> {
    const began = clock.monotonic();
    const found = await resolvers.direct(hostname).catch(() => []);
    if (clock.monotonic() - began >= SLOW_MS) slow.set(hostname, true);
    else slow.delete(hostname);
    return found;
  }

  async function find(hostname: string, owner: string, isOver: () => boolean): Promise<readonly string[]> {
    const line = `${owner} ${slow.has(hostname)}`;
    const direct = await inTurn(line, async () => (isOver() ? [] : viaCares(hostname)));
    const found =
      direct.length > 0 || isOver()
        ? direct
        : await viaSystemInTurn.run(owner, async () => (isOver() ? [] : resolvers.system(hostname)));
    return found.slice(0, MOST_ADDRESSES);
  }

  return (hostname, owner = hostname) => {
    const key = `${hostname} ${owner}`;
    const asked = underWay.get(key);
    if (asked !== undefined) return shared(asked);
    const answer = deadline((isOver) => find(hostname, owner, isOver)).finally(() => underWay.delete(key));
    underWay.set(key, answer);
    return answer;
  };
}

function createResolvers(): Resolvers {
  return {
    direct: createNamesThread(),
    system: async (hostname) => (await systemLookup(hostname, { all: true })).map((found) => found.address),
  };
}

interface PendingLookup {
  until: number;
  over: boolean;
  giveUp(): void;
}

/**
 * Ends each look-up without addresses after `GIVE_UP_MS`; one timer for all, because they end in the order in
 * which they started.
 */
function createDeadline(clock: Clock) {
  const waiting = createFifo<PendingLookup>();
  let timer: Timer | null = null;

  function sweep(): void {
    timer = null;
    const now = clock.monotonic();
    for (let first = waiting.peek(); first !== undefined; first = waiting.peek()) {
      if (!first.over && first.until > now) break;
      waiting.shift();
      first.giveUp();
    }
    arm();
  }

  function arm(): void {
    const first = waiting.peek();
    if (timer !== null || first === undefined) return;
    timer = clock.after(first.until - clock.monotonic(), sweep);
  }

  return (work: (isOver: () => boolean) => Promise<readonly string[]>): Promise<readonly string[]> =>
    new Promise((resolve, reject) => {
      const entry: PendingLookup = {
        until: clock.monotonic() + GIVE_UP_MS,
        over: false,
        giveUp() {
          entry.over = true;
          resolve([]);
        },
      };
      waiting.push(entry);
      arm();
      work(() => entry.over)
        .then(resolve, reject)
        .finally(() => {
          entry.over = true;
          if (waiting.peek() === entry) waiting.shift();
          if (waiting.size === 0) {
            timer?.cancel();
            timer = null;
          }
        });
    });
}
