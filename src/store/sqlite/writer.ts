import { Worker } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { moduleBeside } from '../../lib/package.ts';
import { DomainError } from '../../model/errors.ts';
import type { Committed } from '../write-queue.ts';
import { createWriter, type Writer, type WriterWatch } from '../writer.ts';
import { createCommitter } from './runner.ts';
import type { Answers, Failure, WriterData } from './writer-worker.ts';

/** A writer on the caller's own thread and connection: for commands, and for databases in memory. */
export function createInlineWriter(db: Database, watch: WriterWatch): Writer {
  const commit = createCommitter(db);
  return createWriter(
    async (batch) => {
      // One batch a turn, so that others get theirs between two commits.
      await new Promise((resolve) => setImmediate(resolve));
      return commit(batch);
    },
    async () => {},
    watch,
  );
}

/** A change is at most some megabytes, and 20,000 wait at most; the thread itself lives on 20. */
const MAX_HEAP_MB = 1_024;

/**
 * A writer in a thread of its own, with its own connection: the disk's flush, and the SQL with it, take nothing from
 * the thread that serves requests and sends deliveries.
 */
export function createThreadWriter(data: WriterData, watch: WriterWatch): Writer {
  // Without the process's own flags: a thread refuses some of them, and the server would not start.
  const worker = new Worker(moduleBeside(import.meta.url, './writer-worker'), {
    workerData: data,
    execArgv: [],
    // Its objects live for one commit: less than V8's default of 96 MiB for the young costs nothing, and saves 45.
    resourceLimits: { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  let pending: PromiseWithResolvers<Committed> | null = null;
  let ended: { cause: unknown } | null = null;

  worker.unref(); // it keeps the process alive only while somebody awaits it
  worker.on('message', (answers: Answers | { values?: never }) => {
    // Under `node --watch` Node itself tells of the worker's imports this way (test/cli/content.test.ts).
    if (answers.values === undefined) return;
    const failed = answers.failed.map((failure) => ({ index: failure.index, error: toError(failure) }));
    worker.unref();
    pending?.resolve({ values: answers.values, failed });
  });
  worker.on('error', (cause) => {
    end(cause);
    // Uncaught on purpose: a server that cannot store is better ended and started again, where it recovers, than left
    // answering 503 for ever. Nothing that was answered with success is lost by it.
    throw cause;
  });
  worker.on('exit', () => end(null));

  function end(cause: unknown): void {
    ended ??= { cause };
    pending?.reject(cause);
  }

  return createWriter(
    (batch) => {
      if (ended !== null) return Promise.reject(ended.cause);
      const answered = Promise.withResolvers<Committed>();
      pending = answered;
      worker.ref();
      // Names and arguments in turn: an array for each costs more to pass than many a change to make.
      worker.postMessage(batch.flat());
      return answered.promise;
    },
    async () => {
      if (ended !== null) return;
      worker.ref();
      const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
      worker.postMessage('close');
      await exited;
    },
    watch,
  );
}

function toError({ code, message, stack, extra }: Failure): Error {
  if (code === null) return Object.assign(new Error(message), { stack });
  return new DomainError(code, message, extra);
}
