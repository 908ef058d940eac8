import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { Lookup } from './targets.ts';

const SYSTEM_LOOKUPS = 2;

/**
 * Name resolution for deliveries: c-ares first, the system's own resolver where that finds nothing (hosts file, mDNS).
 *
 * getaddrinfo occupies one of libuv's four threads for up to ten seconds when a name's servers are dead, so four dead
 * receivers would hold up the resolution of every healthy one. c-ares needs no thread; what it cannot find queues
 * for `SYSTEM_LOOKUPS` threads and can therefore delay only its like.
 */
export function createLookup(): Lookup {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const queue: (() => void)[] = [];
  let running = 0;

  async function viaSystem(hostname: string): Promise<string[]> {
    if (running >= SYSTEM_LOOKUPS) await new Promise<void>((resolve) => queue.push(resolve));
    running++;
    try {
      return (await systemLookup(hostname, { all: true })).map((found) => found.address);
    } finally {
      running--;
      queue.shift()?.();
    }
  }

  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    return addresses.length > 0 ? addresses : viaSystem(hostname);
  };
}
