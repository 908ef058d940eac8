import { parentPort, Worker, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { moduleBeside } from '../../lib/package.ts';
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
  let underWay: Promise<StoreCounts> | null = null;

  function start(): Worker {
    const made = new Worker(moduleBeside(import.meta.url, './counts-thread'), {
      workerData: { file },
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 },
    });
    made.unref();
    // The pending call is rejected; the next one starts a new thread.
    made.on('exit', () => {
      if (worker === made) worker = null;
    });
    return made;
  }

  function ask(lateBefore: number): Promise<StoreCounts> {
    worker ??= start();
    const thread = worker;
    return new Promise<StoreCounts>((resolve, reject) => {
      const end = (act: () => void) => {
        thread.off('message', answered).off('error', reject).off('exit', gone).unref();
        act();
      };
      const answered = (answer: CountsAnswer | { ok?: never }) => {
        // Under `node --watch`, Node itself reports the worker's imports this way.
        if (answer.ok === undefined) return;
        end(() => (answer.ok ? resolve(answer.counts) : reject(errorOf(answer))));
      };
      const gone = () => end(() => reject(new Error('the counting thread has ended')));
      thread.on('message', answered).once('error', reject).once('exit', gone).ref();
      thread.postMessage(lateBefore);
    });
  }

  return {
    countAll(lateBefore) {
      underWay ??= ask(lateBefore).finally(() => {
        underWay = null;
      });
      return underWay;
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
