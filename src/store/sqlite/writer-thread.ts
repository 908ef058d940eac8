import { Worker } from 'node:worker_threads';
import { createSlots } from '../../lib/slots.ts';
import { DomainError } from '../../model/errors.ts';
import type { Operations } from './operations.ts';
import type { Writer } from './writer.ts';
import type { Answers, Calls, Failure, WriterData } from './writer-worker.ts';

/** Changes under way at most; beyond it callers hear UNAVAILABLE at once instead of filling the memory. */
const MAX_UNDER_WAY = 20_000;

/** How long the first change waits for company: each message between threads costs both of them a system call. */
const GATHER_MS = 2;
/** A change is at most some megabytes, and 20,000 wait at most; the thread itself lives on 20. */
const MAX_HEAP_MB = 1_024;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * A writer in a thread of its own, with its own connection: the disk's flush, and the SQL with it, take nothing from
 * the thread that serves requests and sends deliveries. While one batch commits the next gathers, so that a commit
 * serves more operations the busier it gets.
 */
export function createThreadWriter(data: WriterData): Writer {
  // Without the process's own flags: a thread refuses some of them, and the server would not start.
  const worker = new Worker(new URL('./writer-worker.ts', import.meta.url), {
    workerData: data,
    execArgv: [],
    // Its objects live for one commit: less than V8's default of 96 MiB for the young costs nothing, and saves 45.
    resourceLimits: { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const waiting = createSlots<Waiting>();
  let outbox: Calls = [];
  let ended: DomainError | null = null;

  worker.unref(); // it keeps the process alive only while somebody awaits it
  worker.on('message', (message: Answers | { done?: never }) => {
    // Under `node --watch` Node itself tells of the worker's imports this way (test/cli/content.test.ts).
    if (message.done === undefined) return;
    const { done, failed } = message;
    for (let i = 0; i < done.length; i += 2) take(done[i] as number)?.resolve(done[i + 1]);
    for (const failure of failed) take(failure.id)?.reject(toError(failure));
  });
  worker.on('error', (cause) => {
    end('The storage stopped unexpectedly.', cause);
    // Uncaught on purpose: a server that cannot store is better ended and started again, where it recovers, than left
    // answering 503 for ever. Nothing that was answered with success is lost by it.
    throw cause;
  });
  worker.on('exit', () => end('The storage is closed.', null));

  function take(id: number): Waiting | undefined {
    const entry = waiting.take(id);
    if (waiting.size === 0) worker.unref();
    return entry;
  }

  function end(detail: string, cause: unknown): void {
    if (ended !== null) return;
    ended = new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1 });
    ended.cause = cause;
    for (const entry of waiting.takeAll()) entry.reject(ended);
  }

  /** One message for all that is asked for within {@link GATHER_MS}. */
  function post(id: number, name: keyof Operations, args: unknown[]): void {
    if (outbox.length === 0) setTimeout(flush, GATHER_MS);
    outbox.push(id, name, args);
  }

  function flush(): void {
    const calls = outbox;
    outbox = [];
    if (calls.length > 0 && ended === null) worker.postMessage(calls);
  }

  return {
    run<K extends keyof Operations>(name: K, ...args: Parameters<Operations[K]>) {
      if (ended !== null) return Promise.reject(ended);
      if (waiting.size >= MAX_UNDER_WAY) {
        const detail = 'Too many changes wait to be stored.';
        return Promise.reject(new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1 }));
      }
      return new Promise<ReturnType<Operations[K]>>((resolve, reject) => {
        if (waiting.size === 0) worker.ref();
        const id = waiting.put({ resolve: resolve as (value: unknown) => void, reject });
        post(id, name, args);
      });
    },
    async close() {
      flush();
      if (ended !== null) return;
      worker.ref();
      const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
      worker.postMessage('close');
      await exited;
    },
  };
}

function toError({ code, message, stack, extra }: Failure): Error {
  if (code === null) return Object.assign(new Error(message), { stack });
  return new DomainError(code, message, extra);
}
