import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { moduleBeside } from '../../lib/package.ts';
import { DomainError, type ErrorCode, type ProblemExtra } from '../../model/errors.ts';
import type { NamedChange } from '../changes.ts';
import type { Committed } from '../write-queue.ts';
import { createWriter, type Writer, type WriterWatch } from '../writer.ts';
import { openDatabase } from './database.ts';
import { createCommitter } from './runner.ts';

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
  const worker = new Worker(moduleBeside(import.meta.url, './writer'), {
    workerData: data,
    execArgv: [],
    // Its objects live for one commit: less than V8's default of 96 MiB for the young costs nothing, and saves 45.
    resourceLimits: { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  let pending: PromiseWithResolvers<Committed> | null = null;
  let ended: { cause: unknown } | null = null;

  worker.unref(); // it keeps the process alive only while a commit is awaited
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

/** What the thread is started with. */
export interface WriterData {
  file: string;
  busyTimeoutMs: number;
}

/** What became of a batch, after its COMMIT. */
export interface Answers {
  /** In the order of the batch. */
  values: unknown[];
  failed: Failure[];
}

/** An error that is no `DomainError` has no code. */
export interface Failure {
  index: number;
  code: ErrorCode | null;
  message: string;
  stack: string | undefined;
  extra: ProblemExtra;
}

if (parentPort !== null) serve(parentPort, workerData as WriterData);

/** Every message is a batch, names and arguments in turn; every answer has the outcome of one. */
function serve(port: NonNullable<typeof parentPort>, { file, busyTimeoutMs }: WriterData): void {
  const db = openDatabase(file, { busyTimeoutMs });
  const commit = createCommitter(db);

  port.on('message', (message: NamedChange[number][] | 'close') => {
    if (message === 'close') {
      db.close();
      port.close();
      return;
    }
    const { values, failed } = commit(changesIn(message));
    const answers: Answers = { values, failed: failed.map(describe) };
    port.postMessage(answers);
  });
}

function changesIn(message: NamedChange[number][]): NamedChange[] {
  return Array.from(
    { length: message.length / 2 },
    (_, i) => [message[2 * i], message[2 * i + 1]] as NamedChange,
  );
}

function describe({ index, error }: { index: number; error: unknown }): Failure {
  if (error instanceof DomainError) {
    return { index, code: error.code, message: error.message, stack: error.stack, extra: error.extra };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { index, code: null, message, stack, extra: {} };
}
