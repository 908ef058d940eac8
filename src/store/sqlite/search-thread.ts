import { parentPort, type Worker, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { startThread } from '../../lib/package.ts';
import { createFifo, createLimits } from '../../lib/queues.ts';
import { DomainError } from '../../model/errors.ts';
import type { SignalQuery } from '../../model/signal.ts';
import { phrasesOf } from '../../rules/words.ts';
import type { SignalPage } from '../signal-store.ts';
import { signalReads } from './reads/signals.ts';

/** Searches in separate threads, started on first use. Null if the thread failed. @throws DomainError `UNAVAILABLE` once closed */
export interface SearchThreads {
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage | null>;
  /** The number of signals, counted up to `most`. */
  countSignals(tenantId: string, query: SignalQuery, most: number): Promise<number | null>;
  close(): Promise<void>;
}

/** A requested page; with `most`, a number. */
interface Search {
  tenantId: string;
  query: SignalQuery;
  most: number | null;
}

interface WaitingSearch extends PromiseWithResolvers<Answer | null> {
  search: Search;
}

/** A thread, with the search in progress. */
interface Line {
  worker: Worker;
  current: WaitingSearch | null;
}

/**
 * A search takes as long as a tenant's posts make it, seconds in the worst case, and cannot be interrupted: others use another
 * thread.
 */
const MOST_THREADS = 3;

/** Whether words must be adjacent: the index then scans all rows that contain them, until the page is full. */
export function isLongSearch({ q }: Pick<SignalQuery, 'q'>): boolean {
  return q !== null && phrasesOf(q).some((words) => words.length > 1);
}

/**
 * A phrase of common words that does not occur takes time proportional to the posts with these words: 27 ms for 3,000
 * long ones, 2 s for 400 posts of one word ten thousand times, which would block the server's main thread.
 */
export function createSearchThreads(file: string): SearchThreads {
  const oneOfEach = createLimits(1);
  /** At most one search of each tenant. */
  const waiting = createFifo<WaitingSearch>();
  const lines = new Set<Line>();
  let isClosed = false;

  function end(line: Line, answer: Answer | null): void {
    const ended = line.current;
    line.current = null;
    line.worker.unref();
    ended?.resolve(answer);
    begin();
  }

  function begin(): void {
    while (waiting.size > 0) {
      const line = idleLine();
      const next = line === null ? undefined : waiting.shift();
      if (line === null || next === undefined) return;
      line.current = next;
      line.worker.ref();
      line.worker.postMessage(next.search);
    }
  }

  function idleLine(): Line | null {
    for (const line of lines) if (line.current === null) return line;
    return lines.size < MOST_THREADS ? start() : null;
  }

  /** The thread has ended, and with it the search in progress. */
  function drop(gone: Line): void {
    if (lines.delete(gone)) end(gone, null);
  }

  function start(): Line {
    const worker = startThread<{ answer: Answer | null }>(import.meta.url, './search-thread', {
      workerData: { file },
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 },
      answered: ({ answer }) => end(line, answer),
      ended: () => drop(line),
    });
    const line: Line = { worker, current: null };
    lines.add(line);
    return line;
  }

  function ask(search: Search): Promise<Answer | null> {
    return oneOfEach(search.tenantId, async () => {
      if (isClosed) throw stopping();
      const asked = { search, ...Promise.withResolvers<Answer | null>() };
      waiting.push(asked);
      begin();
      return await asked.promise;
    });
  }

  return {
    async listSignals(tenantId, query) {
      const answer = await ask({ tenantId, query, most: null });
      return answer !== null && 'json' in answer
        ? { json: Buffer.from(answer.json), last: answer.last }
        : null;
    },
    async countSignals(tenantId, query, most) {
      const answer = await ask({ tenantId, query, most });
      return answer !== null && 'count' in answer ? answer.count : null;
    },
    async close() {
      isClosed = true;
      // Refused: the caller would repeat them in its own thread, one after the other.
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) next.reject(stopping());
      const ending = [...lines];
      for (const line of ending) {
        line.current?.reject(stopping());
        drop(line);
      }
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  };
}

function stopping(): DomainError {
  return new DomainError('UNAVAILABLE', 'The server is stopping. Nothing was changed.');
}

/** A page's bytes and its end, or a number. */
type Answer = { json: ArrayBuffer; last: SignalPage['last'] } | { count: number };

if (parentPort !== null) serve(parentPort, workerData as { file: string });

function serve(port: NonNullable<typeof parentPort>, { file }: { file: string }): void {
  const reads = signalReads(new Sqlite(file, { readonly: true }));

  function answerOf({ tenantId, query, most }: Search): Answer | null {
    try {
      if (most !== null) return { count: reads.countSignals(tenantId, query, most) };
      const { json, last } = reads.listSignals(tenantId, query);
      return { json: Uint8Array.from(json).buffer, last };
    } catch {
      // The caller repeats the search in its own thread, where errors keep their class.
      return null;
    }
  }

  port.on('message', (search: Search) => {
    const answer = answerOf(search);
    port.postMessage({ answer }, answer !== null && 'json' in answer ? [answer.json] : []);
  });
}
