import { parentPort, type Worker, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { startThread } from '../../lib/package.ts';
import { createFairQueue } from '../../lib/queues.ts';
import type { SignalQuery } from '../../model/signal.ts';
import { phrasesOf } from '../../rules/words.ts';
import type { SignalPage } from '../signal-store.ts';
import { signalReads } from './reads/signals.ts';

/** Searches in a separate thread, started on first use. */
export interface SearchThread {
  /** Null if the thread failed to search. */
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage | null>;
  close(): Promise<void>;
}

interface Search {
  request: SearchRequest;
  resolve(page: SignalPage | null): void;
}

/** Whether words must be adjacent: the index then scans all rows that contain them, until the page is full. */
export function isLongSearch({ q }: Pick<SignalQuery, 'q'>): boolean {
  return q !== null && phrasesOf(q).some((words) => words.length > 1);
}

/**
 * A phrase of common words that does not occur takes time proportional to the posts with these words: 27 ms for 3,000
 * long ones, which would block the server's main thread.
 */
export function createSearchThread(file: string): SearchThread {
  /** Tenants take turns: the thread gets one search at a time. */
  const waiting = createFairQueue<Search>();
  let current: Search | null = null;
  let worker: Worker | null = null;
  let lastId = 0;

  function end(page: SignalPage | null): void {
    const ended = current;
    current = null;
    worker?.unref();
    if (ended === null) return;
    waiting.letOthers(ended.request.tenantId);
    ended.resolve(page);
    begin();
  }

  function begin(): void {
    if (current !== null) return;
    current = waiting.next() ?? null;
    if (current === null) return;
    worker ??= start();
    worker.ref();
    worker.postMessage(current.request);
  }

  /** The thread has ended, and with it the search in progress. */
  function drop(gone: Worker): void {
    if (worker !== gone) return;
    worker = null;
    end(null);
  }

  function start(): Worker {
    const made = startThread<SearchAnswer>(import.meta.url, './search-thread', {
      workerData: { file },
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 },
      answered({ id, page }) {
        if (id === current?.request.id) end(page && { json: Buffer.from(page.json), last: page.last });
      },
      ended: () => drop(made),
    });
    return made;
  }

  return {
    listSignals: (tenantId, query) =>
      new Promise((resolve) => {
        waiting.push(tenantId, { request: { id: ++lastId, tenantId, query }, resolve });
        begin();
      }),
    async close() {
      for (let search = waiting.next(); search !== undefined; search = waiting.next()) search.resolve(null);
      const ending = worker;
      if (ending === null) return;
      drop(ending);
      await ending.terminate();
    },
  };
}

/** A requested page. */
export interface SearchRequest {
  id: number;
  tenantId: string;
  query: SignalQuery;
}

/** A page's bytes and its end; null if the search failed here. */
export interface SearchAnswer {
  id: number;
  page: { json: ArrayBuffer; last: SignalPage['last'] } | null;
}

if (parentPort !== null) serve(parentPort, workerData as { file: string });

function serve(port: NonNullable<typeof parentPort>, { file }: { file: string }): void {
  const { listSignals } = signalReads(new Sqlite(file, { readonly: true }));
  port.on('message', ({ id, tenantId, query }: SearchRequest) => {
    let page: SearchAnswer['page'] = null;
    try {
      const { json, last } = listSignals(tenantId, query);
      page = { json: Uint8Array.from(json).buffer, last };
    } catch {
      // The caller repeats the search in its own thread, where errors keep their class.
    }
    port.postMessage({ id, page } satisfies SearchAnswer, page === null ? [] : [page.json]);
  });
}
