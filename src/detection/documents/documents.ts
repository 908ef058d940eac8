import type { Worker } from 'node:worker_threads';
import { systemClock, type Timer } from '../../lib/clock.ts';
import { startThread } from '../../lib/package.ts';
import { createPlaces, type Place } from '../../lib/places.ts';
import { SourceFault, stoppedFault, TOO_COSTLY } from '../source-item.ts';
import type { ParseAnswer, ParseRequest, Parser, ReceivedDocument } from './parser.ts';

/** Six times what a feed of 3.6 MB takes on a busy machine. */
const DEADLINE_MS = 2_000;
/** Four times what a feed of 5 MB takes. */
const MAX_HEAP_MB = 128;
/** While a document takes long, the second thread parses those of others. */
const MOST_THREADS = 2;
/** A document that takes this long starts the second thread, and leaves one to those of others. */
const LONG_MS = 100;

/** Parses untrusted documents outside the thread that serves requests. */
export interface Documents {
  /**
   * Parses a document with `parser`; owners take turns, first those whose documents took little time, and others leave them a
   * thread. A document that takes too much time or memory terminates its thread, and the next one gets a new thread. One that
   * keeps the last thread from others is parsed again, once.
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
  place: Place;
  /** Whether it may be parsed again. */
  isFirst: boolean;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface ParserThread {
  worker: Worker;
  isReady: boolean;
  /** The document that it parses, or will parse once it is ready. */
  current: { job: ParseJob; limit: Timer | null } | null;
}

/** Creates a parser pool. Its first thread starts with the first document, the other with the first one that takes long. */
export function createDocuments({ deadlineMs = DEADLINE_MS, maxHeapMb = MAX_HEAP_MB } = {}): Documents {
  const places = createPlaces(systemClock, { most: MOST_THREADS, slowMs: LONG_MS });
  /** At most {@link MOST_THREADS}. */
  const threads = new Set<ParserThread>();
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

  /** If the system allows no further thread, the others wait. In a timer, the error would end the process. */
  function startAnother(): void {
    try {
      start();
    } catch {
      // The next document that finds no thread reports it.
    }
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
    if (ended !== null) tell(ended.job);
  }

  function parseOnce(job: Omit<ParseJob, 'place' | 'resolve' | 'reject'>): Promise<unknown> {
    return places.run(job.owner, (place) => {
      if (closed) throw stoppedFault();
      return new Promise((resolve, reject) => {
        const thread = threadFor(job.owner);
        thread.current = { job: { ...job, place, resolve, reject }, limit: null };
        thread.worker.ref();
        send(thread);
      });
    });
  }

  /** A thread that is ready; for an owner with long documents, which wait for one to start, one that is not. */
  function threadFor(owner: string): ParserThread {
    const idle = [...threads].filter(({ current }) => current === null);
    const isLong = places.isSlow(owner);
    if (isLong && threads.size < MOST_THREADS) return start();
    return idle.find(({ isReady }) => isReady !== isLong) ?? idle[0] ?? start();
  }

  function send(thread: ParserThread): void {
    const sent = thread.current;
    if (sent === null || !thread.isReady) return;
    const { request, place, isFirst } = sent.job;
    // Copies the body, because a small one shares its memory with others; 5 MB take half a millisecond.
    const body = new Uint8Array(request.document.body);
    thread.worker.postMessage({ ...request, document: { ...request.document, body } }, [body.buffer]);
    place.begins(isFirst ? () => stop(thread, new GaveWay()) : undefined);
    sent.limit = systemClock.after(LONG_MS, () => {
      if (thread.current !== sent) return;
      // The others need not wait for a thread to start.
      if (threads.size < MOST_THREADS) startAnother();
      // If the main thread was blocked, the result may have arrived already; `setImmediate` handles it first.
      sent.limit = systemClock.after(deadlineMs - LONG_MS, () => setImmediate(giveUp, sent, thread));
    });
  }

  function giveUp(given: ParserThread['current'], thread: ParserThread): void {
    if (thread.current !== given || !threads.has(thread)) return;
    stop(thread, tooCostly(`more than ${deadlineMs / 1_000} seconds`));
  }

  function stop(thread: ParserThread, error: Error): void {
    void thread.worker.terminate();
    drop(thread, error);
  }

  return {
    async parse(parser, { body, contentType, url }, args, owner) {
      if (closed) throw stoppedFault();
      const request = { parser: parser.name, document: { body, contentType, url }, args };
      const parsing = parseOnce({ owner, request, isFirst: true }).catch((error: unknown) => {
        if (error instanceof GaveWay) return parseOnce({ owner, request, isFirst: false });
        throw error;
      });
      return (await parsing) as ReturnType<typeof parser.parse>;
    },
    async close() {
      closed = true;
      const ending = [...threads];
      for (const thread of ending) drop(thread, stoppedFault());
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  };
}

/** The document was long, and its thread was needed for others. */
class GaveWay extends Error {}

function tooCostly(limit: string): SourceFault {
  return new SourceFault(TOO_COSTLY, `Parsing the document takes ${limit}. It will be read again later.`);
}
