import { Resolver } from 'node:dns/promises';
import { parentPort, type Worker, workerData } from 'node:worker_threads';
import { startThread } from '../lib/package.ts';

/** Maximum number of addresses of a name that count; each may be dialled. */
export const MOST_ADDRESSES = 32;

/**
 * Creates a look-up with c-ares, in a thread that starts with the first name: c-ares reads all answers that have arrived in one
 * piece, and one of 4,000 addresses takes it 12 ms. Answers to several tenants, held back and sent together, blocked the
 * process for a second. Rejects, or returns no addresses, for an unknown name.
 *
 * @param servers name servers other than the system's, as in `dns.setServers`
 */
export function createNamesThread(
  servers: readonly string[] | null = null,
): (hostname: string) => Promise<readonly string[]> {
  let worker: Worker | null = null;
  let lastId = 0;
  const pending = new Map<number, PendingName>();

  function start(): Worker {
    const made = startThread<NameAnswer>(import.meta.url, './names-thread', {
      workerData: { servers },
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 },
      answered({ id, addresses }) {
        const name = pending.get(id);
        pending.delete(id);
        if (pending.size === 0) made.unref();
        name?.resolve(addresses);
      },
      ended: (error) => drop(made, error ?? new Error('the thread that looks up names has ended')),
    });
    return made;
  }

  /** The thread has ended, and with it its look-ups; the next one starts a new thread. */
  function drop(gone: Worker, error: Error): void {
    if (worker !== gone) return;
    worker = null;
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  }

  return (hostname) =>
    new Promise((resolve, reject) => {
      worker ??= start();
      const id = ++lastId;
      pending.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ id, hostname } satisfies NameRequest);
    });
}

interface PendingName {
  resolve(addresses: readonly string[]): void;
  reject(error: Error): void;
}

interface NameRequest {
  id: number;
  hostname: string;
}

interface NameAnswer {
  id: number;
  addresses: readonly string[];
}

if (parentPort !== null) serve(parentPort, workerData as { servers: readonly string[] | null });

function serve(
  port: NonNullable<typeof parentPort>,
  { servers }: { servers: readonly string[] | null },
): void {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers !== null) resolver.setServers(servers);
  port.on('message', async ({ id, hostname }: NameRequest) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers
      .flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      .slice(0, MOST_ADDRESSES);
    port.postMessage({ id, addresses } satisfies NameAnswer);
  });
}
