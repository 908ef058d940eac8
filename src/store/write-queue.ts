import type { Clock, Timer } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';

/**
 * What an error says about the storage: `full` may hit one big change and spare a small one; `outage` (locked,
 * read-only, failing device) hits all alike; null is the operation's own fault.
 */
export type StorageFault = 'full' | 'outage' | null;

/** Group commit: operations that arrive together share one transaction and so one flush of the disk. */
export interface WriteQueue {
  /**
   * Runs the synchronous `operation` inside a transaction; resolves after COMMIT. May run it twice (after a roll-back).
   * @throws DomainError UNAVAILABLE where the storage failed or the queue is full: nothing is stored then.
   */
  run<T>(operation: () => T): Promise<T>;
  /** The same without a promise: for callers that have no use for one. */
  add(entry: Entry): void;
  /** Commits what waits; later operations are refused. */
  close(): Promise<void>;
}

export interface WriteQueueOptions {
  /** Runs `work` in one transaction: commits when it returns, rolls back and throws on when it or COMMIT throws. */
  runBatch(work: () => void): void;
  faultOf(error: unknown): StorageFault;
  clock: Clock;
  /** How long the first operation waits for company; 0: only until the event loop's next turn. */
  flushDelayMs?: number;
  maxBatch?: number;
  maxQueued?: number;
}

/** An operation with what becomes of it: exactly one of `resolve` (after COMMIT) and `reject` is called, once. */
export interface Entry {
  /** Runs the operation and keeps its result for `resolve`. */
  execute(): void;
  resolve(): void;
  reject(error: unknown): void;
}

const KEEP_ALIVE_MS = 2 ** 30;

export function createWriteQueue(options: WriteQueueOptions): WriteQueue {
  const { runBatch, faultOf, clock, flushDelayMs = 2, maxBatch = 200, maxQueued = 20_000 } = options;
  let queue: Entry[] = [];
  let scheduled: Timer | null = null;
  let scheduledNow = false;
  let closed = false;
  // Clock timers do not keep the process alive; a command that awaits its one write must not end before it.
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS).unref();

  function schedule(): void {
    if (queue.length === 0) {
      keepAlive.unref();
      return;
    }
    if (queue.length >= maxBatch || flushDelayMs === 0) {
      scheduled?.cancel();
      scheduled = immediately(flush);
      scheduledNow = true;
    } else {
      scheduled = clock.after(flushDelayMs, flush);
      scheduledNow = false;
    }
  }

  /** One batch a turn, so that requests and replies get theirs between two commits. */
  function flush(): void {
    scheduled?.cancel();
    scheduled = null;
    scheduledNow = false;
    const batch = queue.length <= maxBatch ? queue : queue.slice(0, maxBatch);
    queue = queue.length <= maxBatch ? [] : queue.slice(maxBatch);
    commitBatch(batch, runBatch, faultOf);
    schedule();
  }

  function add(entry: Entry): void {
    if (closed) entry.reject(unavailable('The storage is being closed.'));
    else if (queue.length >= maxQueued) entry.reject(unavailable('Too many changes wait to be stored.'));
    else {
      queue.push(entry);
      if (queue.length === 1) keepAlive.ref();
      if (scheduled === null || (queue.length >= maxBatch && !scheduledNow)) schedule();
    }
  }

  return {
    add,
    run: <T>(operation: () => T): Promise<T> =>
      new Promise((resolve, reject) => add(createEntry(operation, resolve, reject))),
    async close() {
      closed = true;
      while (queue.length > 0) flush();
      scheduled?.cancel();
      clearInterval(keepAlive);
    },
  };
}

function createEntry<T>(
  operation: () => T,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Entry {
  let settle = () => reject(new Error('The operation was never run.'));
  return {
    execute() {
      const value = operation();
      settle = () => resolve(value);
    },
    resolve: () => settle(),
    reject,
  };
}

type Settings = Pick<WriteQueueOptions, 'runBatch' | 'faultOf'>;

/** Commits all together; where that fails, each alone, so that a poison operation fails alone. */
function commitBatch(batch: Entry[], runBatch: Settings['runBatch'], faultOf: Settings['faultOf']): void {
  const error = attempt(batch, runBatch);
  if (error === null) return;
  // No second try where every one would meet the same fault: a lock costs its whole time-out each time, and what a
  // failed flush of the disk left behind is not known to be safe (pages may be marked clean that were never written).
  if (batch.length === 1 || faultOf(error.cause) === 'outage') {
    rejectAll(batch, error.cause, faultOf);
    return;
  }
  for (const [index, entry] of batch.entries()) {
    const single = attempt([entry], runBatch);
    if (single === null) continue;
    if (faultOf(single.cause) === 'outage') {
      rejectAll(batch.slice(index), single.cause, faultOf);
      return;
    }
    rejectAll([entry], single.cause, faultOf);
  }
}

/** Null when committed; promises resolve only then. The error is boxed because anything can be thrown. */
function attempt(entries: Entry[], runBatch: Settings['runBatch']): { cause: unknown } | null {
  try {
    runBatch(() => {
      for (const entry of entries) entry.execute();
    });
  } catch (cause) {
    return { cause };
  }
  for (const entry of entries) entry.resolve();
  return null;
}

function rejectAll(entries: Entry[], cause: unknown, faultOf: Settings['faultOf']): void {
  const error = translateFault(cause, faultOf);
  for (const entry of entries) entry.reject(error);
}

/** The error as callers get it: a fault of the storage becomes `UNAVAILABLE`, anything else stays what it is. */
export function translateFault(cause: unknown, faultOf: Settings['faultOf']): unknown {
  const fault = faultOf(cause);
  if (fault === null) return cause;
  const detail = fault === 'full' ? 'The storage is full.' : 'The storage cannot be reached right now.';
  const error = unavailable(`${detail} Nothing was stored; try again shortly.`);
  error.cause = cause;
  return error;
}

function unavailable(detail: string): DomainError {
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1 });
}

function immediately(fn: () => void): Timer {
  const handle = setImmediate(fn);
  return { cancel: () => clearImmediate(handle) };
}
