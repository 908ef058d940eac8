import { Worker } from 'node:worker_threads';
import { moduleBeside } from '../../lib/package.ts';
import type { SignalQuery } from '../../model/signal.ts';
import { phrasesOf } from '../../rules/words.ts';
import type { SignalPage } from '../signal-store.ts';
import type { SearchAnswer, SearchRequest } from './search-worker.ts';

/** Searches in a thread of its own, started when it is first asked. */
export interface SearchThread {
  /** Null: the thread could not make the page. */
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage | null>;
  close(): Promise<void>;
}

/** Whether words are to stand beside each other: the index then walks all rows that hold them, until the page is full. */
export function isLongSearch({ q }: Pick<SignalQuery, 'q'>): boolean {
  return q !== null && phrasesOf(q).some((words) => words.length > 1);
}

/**
 * A phrase of common words that stands nowhere takes as long as there are posts with these words: 27 ms among 3,000 long ones,
 * in which the server's own thread would answer nobody.
 */
export function createSearchThread(file: string): SearchThread {
  const asked = new Map<number, (page: SignalPage | null) => void>();
  let worker: Worker | null = null;
  let lastId = 0;

  function settle(id: number, page: SignalPage | null): void {
    const resolve = asked.get(id);
    asked.delete(id);
    if (asked.size === 0) worker?.unref();
    resolve?.(page);
  }

  function drop(gone: Worker): void {
    if (worker !== gone) return;
    worker = null;
    for (const id of [...asked.keys()]) settle(id, null);
  }

  function start(): Worker {
    const made = new Worker(moduleBeside(import.meta.url, './search-worker'), {
      workerData: { file },
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 },
    });
    made.on('message', (answer: SearchAnswer | { id?: never }) => {
      // Under `node --watch` Node itself tells of the worker's imports this way.
      if (answer.id === undefined) return;
      const { id, page } = answer;
      settle(id, page && { json: Buffer.from(page.json), last: page.last });
    });
    made.on('error', () => drop(made));
    made.on('exit', () => drop(made));
    return made;
  }

  return {
    listSignals(tenantId, query) {
      worker ??= start();
      const thread = worker;
      return new Promise((resolve) => {
        const id = ++lastId;
        asked.set(id, resolve);
        // It keeps the process alive only while somebody waits for it.
        thread.ref();
        thread.postMessage({ id, tenantId, query } satisfies SearchRequest);
      });
    },
    async close() {
      const ending = worker;
      if (ending === null) return;
      drop(ending);
      await ending.terminate();
    },
  };
}
