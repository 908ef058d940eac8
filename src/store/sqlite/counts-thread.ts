import { parentPort, type Worker, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { startThread } from '../../lib/package.ts';
import type { StoreCounts } from '../figures.ts';
import { sqliteCode } from './database.ts';
import { createCounts } from './reads/counts.ts';

/** Counts in a separate thread, started on first use. */
export interface CountsThread {
  countAll(lateBefore: number): Promise<StoreCounts>;
  close(): Promise<void>;
}

/**
 * Counting a million pending deliveries takes a tenth of a second, which would block the server's main thread.
 * Concurrent calls share one count.
 */
export function createCountsThread(file: string): CountsThread {
  let worker: Worker | null = null;
  let pending: PromiseWithResolvers<StoreCounts> | null = null;

  function end(tell: (asked: PromiseWithResolvers<StoreCounts>) => void): void {
    const asked = pending;
    pending = null;
    worker?.unref();
    if (asked !== null) tell(asked);
  }

  function start(): Worker {
    const made = startThread<CountsAnswer>(import.meta.url, './counts-thread', {
      workerData: { file },
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 },
      answered(answer) {
        end(({ resolve, reject }) => (answer.ok ? resolve(answer.counts) : reject(errorOf(answer))));
      },
      // The pending call is rejected; the next one starts a new thread.
      ended(error) {
        if (worker !== made) return;
        worker = null;
        end(({ reject }) => reject(error ?? new Error('the counting thread has ended')));
      },
    });
    return made;
  }

  return {
    countAll(lateBefore) {
      if (pending !== null) return pending.promise;
      worker ??= start(); // first: if the system allows no thread, nothing is pending
      pending = Promise.withResolvers();
      worker.ref();
      worker.postMessage(lateBefore);
      return pending.promise;
    },
    async close() {
      await worker?.terminate();
    },
  };
}

/** The result of a count; only the message and code of an error, because errors do not cross threads intact. */
export type CountsAnswer =
  | { ok: true; counts: StoreCounts }
  | { ok: false; message: string; code: string | null };

function errorOf({ message, code }: CountsAnswer & { ok: false }): Error {
  return Object.assign(new Error(message), code !== null && { code });
}

if (parentPort !== null) serve(parentPort, workerData as { file: string });

/** Each message is a time (`lateBefore`); each response has the counts at that time. */
function serve(port: NonNullable<typeof parentPort>, { file }: { file: string }): void {
  const db = new Sqlite(file, { readonly: true });
  const countAll = createCounts(db);
  port.on('message', (lateBefore: number) => {
    let answer: CountsAnswer;
    try {
      answer = { ok: true, counts: countAll(lateBefore) };
    } catch (error) {
      answer = {
        ok: false,
        message: error instanceof Error ? error.message : String(error),
        code: sqliteCode(error),
      };
    }
    port.postMessage(answer);
  });
}
