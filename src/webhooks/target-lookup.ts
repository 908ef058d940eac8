import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { Clock, Timer } from '../lib/clock.ts';
import { createFifo } from '../lib/queues.ts';
import type { Lookup } from './targets.ts';

/** As the system resolves: each occupies one of libuv's four threads. */
const SYSTEM_LOOKUPS = 2;
/** After this long a name counts as unresolvable, even if a server is still being queried. */
const GIVE_UP_MS = 8_000;

/** Resolvers for the addresses of a name; each rejects, or returns none, if it knows none. */
export interface Resolvers {
  /** Takes no thread. */
  direct: Lookup;
  /** Takes a thread, for as long as it pleases. */
  system: Lookup;
}

/**
 * Name resolution, one for the process: c-ares first, the system's own resolver where that finds nothing (hosts file, mDNS).
 *
 * getaddrinfo occupies one of libuv's four threads for up to ten seconds when a name's servers are dead, so four dead
 * receivers would hold up the resolution of every healthy one, and every file that is read. c-ares needs no thread; what it
 * cannot find queues for `SYSTEM_LOOKUPS` threads and can therefore delay only its like, and only until it is given up.
 * Who asks for a name that is being asked for shares the answer.
 */
export function createLookup(clock: Clock, resolvers: Resolvers = createResolvers()): Lookup {
  const deadline = createDeadline(clock);
  const queue = createFifo<() => void>();
  const underWay = new Map<string, Promise<readonly string[]>>();
  let running = 0;

  function next(): void {
    while (running < SYSTEM_LOOKUPS && queue.size > 0) queue.shift()?.();
  }

  /** `isOver`: nothing waits for it any more, so it need not take a thread. */
  function viaSystem(hostname: string, isOver: () => boolean): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      queue.push(() => {
        if (isOver()) return resolve([]);
        running++;
        resolvers
          .system(hostname)
          .then(resolve, reject)
          .finally(() => {
            running--;
            next();
          });
      });
      next();
    });
  }

  async function find(hostname: string, isOver: () => boolean): Promise<readonly string[]> {
    const found = await resolvers.direct(hostname).catch(() => []);
    return found.length > 0 || isOver() ? found : viaSystem(hostname, isOver);
  }

  return (hostname) => {
    const asked = underWay.get(hostname);
    if (asked !== undefined) return asked;
    const answer = deadline((isOver) => find(hostname, isOver)).finally(() => underWay.delete(hostname));
    underWay.set(hostname, answer);
    return answer;
  };
}

function createResolvers(): Resolvers {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  return {
    async direct(hostname) {
      const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    },
    system: async (hostname) => (await systemLookup(hostname, { all: true })).map((found) => found.address),
  };
}

interface Waiting {
  until: number;
  over: boolean;
  giveUp(): void;
}

/** Ends each work with no addresses after `GIVE_UP_MS`; one timer for all of them, as they end in the order they began. */
function createDeadline(clock: Clock) {
  const waiting = createFifo<Waiting>();
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
      const entry: Waiting = {
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
