import type { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { systemClock, type Timer } from '../../lib/clock.ts';
import { startThread } from '../../lib/package.ts';
import { createFairQueue } from '../../lib/queues.ts';
import { SourceFault, stoppedFault, TOO_COSTLY } from '../source-item.ts';
import type { ParseAnswer, ParseRequest, Parser, ReceivedDocument } from './parser.ts';

/** Six times what a feed of 3.6 MB takes on a busy machine. */
const DEADLINE_MS = 2_000;
/** Four times what a feed of 5 MB takes. */
const MAX_HEAP_MB = 128;
/**
 * An owner waits for others for many times as long as its documents took, up to a maximum: one with more than a
 * hundredth of the thread's time goes last. With a tenth, ten owners of costly documents had each rested when it
 * was their turn again.
 */
const [REST_FACTOR, MAX_REST_MS] = [100, 5 * 60_000];
const MOST_KNOWN = 10_000;
/** While a document takes long, the second thread parses those of others. */
const MOST_THREADS = 2;
/** A document that takes this long starts the second thread. */
const LONG_MS = 100;
/** An owner with a rest of this length, that of a quarter of a second of parsing, uses only one thread. */
const LONG_REST_MS = 25_000;

/** Parses untrusted documents outside the thread that serves requests. */
export interface Documents {
  /**
   * Parses a document with `parser`; owners take turns, first those whose documents took little time, and others leave them a
   * thread. A document that takes too much time or memory terminates its thread, and the next one gets a new thread.
   * @throws SourceFault
   */
  parse<Args, Result>(
    parser: Parser<Args, Result>,
    document: ReceivedDocument,
    args: Args,
    owner: string,
  ): Promise<Result>;
  /** Cancels all work. */
  close(): Promise<void>;
}

interface ParseJob {
  owner: string;
  request: ParseRequest;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface ParserThread {
  worker: Worker;
  isReady: boolean;
  /** The document that it parses, or will parse once it is ready. */
  current: { job: ParseJob; limit: Timer | null; sentAt: number | null } | null;
}

/** Creates a parser pool. Its first thread starts with the first document, the other with the first one that takes long. */
export function createDocuments({ deadlineMs = DEADLINE_MS, maxHeapMb = MAX_HEAP_MB } = {}): Documents {
  const waiting = createFairQueue<ParseJob>();
  /** At most {@link MOST_THREADS}. */
  const threads = new Set<ParserThread>();
  /** Until when each owner's documents wait for those of others, in monotonic time. */
  const restsUntil = new LRUCache<string, number>({ max: MOST_KNOWN });
  let closed = false;

  function start(): ParserThread {
    const worker = startThread<ParseAnswer>(import.meta.url, './worker', {
      // A larger young generation made nothing faster and cost 20 MB.
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: maxHeapMb, stackSizeMb: 4 },
      answered(answer) {
        if (!threads.has(started)) return;
        if (answer.state !== 'ready') return settle(started, answer);
        started.isReady = true;
        send(started);
      },
      ended(error: NodeJS.ErrnoException | null) {
        const isFull = error?.code === 'ERR_WORKER_OUT_OF_MEMORY';
        const fault = isFull ? tooCostly(`more than ${maxHeapMb} MB of memory`) : error;
        drop(started, fault ?? new Error('the parsing thread ended'));
      },
    });
    const started: ParserThread = { worker, isReady: false, current: null };
    threads.add(started);
    return started;
  }

  /** Handles the end of a thread, which loses the document that it was parsing. */
  function drop(gone: ParserThread, error: Error): void {
    if (threads.delete(gone)) end(gone, (job) => job.reject(error));
  }

  function settle(thread: ParserThread, answer: Exclude<ParseAnswer, { state: 'ready' }>): void {
    end(thread, (job) => {
      if (answer.state === 'parsed') job.resolve(answer.result);
      else if (answer.state === 'fault')
        job.reject(new SourceFault(answer.code, answer.message, answer.retryAt));
      else if (answer.state === 'exhausted') job.reject(tooCostly('too much memory'));
      else job.reject(new Error(`A document could not be parsed: ${answer.message}`));
    });
  }

  function end(thread: ParserThread, tell: (job: ParseJob) => void): void {
    const ended = thread.current;
    thread.current = null;
    ended?.limit?.cancel();
    thread.worker.unref();
    if (ended !== null) {
      if (ended.sentAt !== null) tire(ended.job.owner, systemClock.monotonic() - ended.sentAt);
      waiting.letOthers(ended.job.owner);
      tell(ended.job);
    }
    begin();
  }

  function tire(owner: string, tookMs: number): void {
    const now = systemClock.monotonic();
    const until = Math.max(now, restsUntil.get(owner) ?? 0) + REST_FACTOR * tookMs;
    restsUntil.set(owner, Math.min(until, now + MAX_REST_MS));
  }

  function begin(): void {
    while (!closed) {
      const busy = [...threads].flatMap(({ current }) => (current === null ? [] : [current.job.owner]));
      if (busy.length >= MOST_THREADS) return;
      const job = waiting.next(ranks(busy));
      if (job === undefined) return;
      const thread = threadFor(job.owner);
      thread.current = { job, limit: null, sentAt: null };
      thread.worker.ref();
      send(thread);
    }
  }

  /** For how long the documents of an owner wait for those of others. */
  function restMs(owner: string): number {
    return Math.max(0, (restsUntil.get(owner) ?? 0) - systemClock.monotonic());
  }

  /** An owner has one document parsed at a time, and those with long ones leave a thread to the others. */
  function ranks(busy: readonly string[]): (owner: string) => number | null {
    return (owner) => {
      const rank = restMs(owner);
      const mayGo = busy.length < MOST_THREADS - 1 || rank < LONG_REST_MS;
      return mayGo && !busy.includes(owner) ? rank : null;
    };
  }

  /** A thread that is ready; for an owner with long documents, which wait for one to start, one that is not. */
  function threadFor(owner: string): ParserThread {
    const idle = [...threads].filter(({ current }) => current === null);
    const isLong = restMs(owner) >= LONG_REST_MS;
    if (isLong && threads.size < MOST_THREADS) return start();
    return idle.find(({ isReady }) => isReady !== isLong) ?? idle[0] ?? start();
  }

  function send(thread: ParserThread): void {
    const sent = thread.current;
    if (sent === null || !thread.isReady) return;
    const { request } = sent.job;
    // Copies the body, because a small one shares its memory with others; 5 MB take half a millisecond.
    const body = new Uint8Array(request.document.body);
    thread.worker.postMessage({ ...request, document: { ...request.document, body } }, [body.buffer]);
    sent.sentAt = systemClock.monotonic();
    sent.limit = systemClock.after(LONG_MS, () => {
      if (thread.current !== sent) return;
      // The others need not wait for it to end, nor for a thread to start.
      if (threads.size < MOST_THREADS) start();
      begin();
      // If the main thread was blocked, the result may have arrived already; `setImmediate` handles it first.
      sent.limit = systemClock.after(deadlineMs - LONG_MS, () => setImmediate(giveUp, sent, thread));
    });
  }

  function giveUp(given: ParserThread['current'], thread: ParserThread): void {
    if (thread.current !== given || !threads.has(thread)) return;
    void thread.worker.terminate();
    drop(thread, tooCostly(`more than ${deadlineMs / 1_000} seconds`));
  }

  return {
    parse(parser, { body, contentType, url }, args, owner) {
      if (closed) return Promise.reject(stoppedFault());
      return new Promise((resolve, reject) => {
        const request = { parser: parser.name, document: { body, contentType, url }, args };
        waiting.push(owner, { owner, request, resolve: resolve as ParseJob['resolve'], reject });
        begin();
      });
    },
    async close() {
      closed = true;
      for (let job = waiting.next(); job !== undefined; job = waiting.next()) job.reject(stoppedFault());
      const ending = [...threads];
      for (const thread of ending) drop(thread, stoppedFault());
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  };
}

function tooCostly(limit: string): SourceFault {
  return new SourceFault(TOO_COSTLY, `Parsing the document takes ${limit}. It will be read again later.`);
}
