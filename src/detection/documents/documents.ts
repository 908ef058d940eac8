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

/** Parses untrusted documents outside the thread that serves requests. */
export interface Documents {
  /**
   * Parses a document with `parser`; owners take turns, first those whose documents took little time. A document
   * that takes too much time or memory terminates its thread, and the next one gets a new thread.
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
}

/** Creates a parser pool with one thread, which starts with the first document. */
export function createDocuments({ deadlineMs = DEADLINE_MS, maxHeapMb = MAX_HEAP_MB } = {}): Documents {
  const waiting = createFairQueue<ParseJob>();
  let thread: ParserThread | null = null;
  let current: { job: ParseJob; limit: Timer | null; sentAt: number | null } | null = null;
  /** Until when each owner's documents wait for those of others, in monotonic time. */
  const restsUntil = new LRUCache<string, number>({ max: MOST_KNOWN });
  let closed = false;

  function start(): ParserThread {
    const worker = startThread<ParseAnswer>(import.meta.url, './worker', {
      // A larger young generation made nothing faster and cost 20 MB.
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: maxHeapMb, stackSizeMb: 4 },
      answered(answer) {
        if (thread !== started) return;
        if (answer.state !== 'ready') return settle(answer);
        started.isReady = true;
        send();
      },
      ended(error: NodeJS.ErrnoException | null) {
        const isFull = error?.code === 'ERR_WORKER_OUT_OF_MEMORY';
        const fault = isFull ? tooCostly(`more than ${maxHeapMb} MB of memory`) : error;
        drop(started, fault ?? new Error('the parsing thread ended'));
      },
    });
    const started: ParserThread = { worker, isReady: false };
    return started;
  }

  /** Handles the end of a thread, which loses the document that it was parsing. */
  function drop(gone: ParserThread, error: Error): void {
    if (thread !== gone) return;
    thread = null;
    end((job) => job.reject(error));
  }

  function settle(answer: Exclude<ParseAnswer, { state: 'ready' }>): void {
    end((job) => {
      if (answer.state === 'parsed') job.resolve(answer.result);
      else if (answer.state === 'fault')
        job.reject(new SourceFault(answer.code, answer.message, answer.retryAt));
      else if (answer.state === 'exhausted') job.reject(tooCostly('too much memory'));
      else job.reject(new Error(`A document could not be parsed: ${answer.message}`));
    });
  }

  function end(tell: (job: ParseJob) => void): void {
    const ended = current;
    current = null;
    ended?.limit?.cancel();
    thread?.worker.unref();
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
    if (current !== null || closed) return;
    const now = systemClock.monotonic();
    const job = waiting.next((owner) => Math.max(now, restsUntil.get(owner) ?? 0));
    if (job === undefined) return;
    current = { job, limit: null, sentAt: null };
    thread ??= start();
    thread.worker.ref();
    send();
  }

  function send(): void {
    const reading = thread;
    if (current === null || reading === null || !reading.isReady) return;
    const sent = current;
    const { request } = sent.job;
    // Copies the body, because a small one shares its memory with others; 5 MB take half a millisecond.
    const body = new Uint8Array(request.document.body);
    reading.worker.postMessage({ ...request, document: { ...request.document, body } }, [body.buffer]);
    sent.sentAt = systemClock.monotonic();
    // If the main thread was blocked, the result may have arrived already; `setImmediate` handles it first.
    sent.limit = systemClock.after(deadlineMs, () => setImmediate(giveUp, sent, reading));
  }

  function giveUp(given: typeof current, reading: ParserThread): void {
    if (current !== given || thread !== reading) return;
    void reading.worker.terminate();
    drop(reading, tooCostly(`more than ${deadlineMs / 1_000} seconds`));
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
      const ending = thread;
      if (ending !== null) drop(ending, stoppedFault());
      await ending?.worker.terminate();
    },
  };
}

function tooCostly(limit: string): SourceFault {
  return new SourceFault(TOO_COSTLY, `Parsing the document takes ${limit}. It will be read again later.`);
}
