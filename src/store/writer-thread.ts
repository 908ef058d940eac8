import type { MessagePort } from 'node:worker_threads';
import { startThread } from '../lib/package.ts';
import { DomainError, type ErrorCode, type ProblemExtra } from '../model/errors.ts';
import type { NamedChange } from './changes.ts';
import type { Committed } from './write-queue.ts';
import { createWriter, type Writer, type WriterWatch } from './writer.ts';

/** A change has at most a few megabytes, and at most 20,000 wait; the thread itself needs 20 MB. */
const MAX_HEAP_MB = 1_024;

/**
 * A writer in a separate thread, with its own connection. The thread is the module `./writer` next to `url`, which calls
 * {@link serveBatches}.
 */
export function startWriterThread(url: string, workerData: unknown, watch: WriterWatch): Writer {
  const worker = startThread<Answers>(url, './writer', {
    workerData,
    // Its objects live for one commit: a smaller young generation than V8's default of 96 MiB costs nothing, and
    // saves 45.
    resourceLimits: { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: MAX_HEAP_MB },
    answered({ values, failed }) {
      const errors = failed.map((failure) => ({ index: failure.index, error: toError(failure) }));
      worker.unref();
      pending?.resolve({ values, failed: errors });
    },
    ended(error) {
      end(error);
      // Uncaught on purpose: a server that cannot store anything should be restarted, which recovers it, instead of
      // returning 503 forever. Nothing that was acknowledged is lost.
      if (error !== null) throw error;
    },
  });
  let pending: PromiseWithResolvers<Committed> | null = null;
  let ended: { cause: unknown } | null = null;

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
      // Names and arguments alternate: passing an array for each would cost more than many changes take.
      const message: NamedChange[number][] = [];
      for (const change of batch) message.push(change[0], change[1]);
      worker.postMessage(message);
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

function toError({ code, message, stack, extra, cause }: Failure): Error {
  if (code === null) return Object.assign(new Error(message), { stack });
  const error = new DomainError(code, message, extra);
  if (cause !== null) error.cause = new Error(cause);
  return error;
}

/** The results of a batch, after its COMMIT. */
export interface Answers {
  /** In the order of the batch. */
  values: unknown[];
  failed: Failure[];
}

/** An error other than `DomainError` has no code. */
export interface Failure {
  index: number;
  code: ErrorCode | null;
  message: string;
  stack: string | undefined;
  extra: ProblemExtra;
  /** What the database said. */
  cause: string | null;
}

/** In the thread: each message is a batch, names and arguments alternating; each response has its results. */
export function serveBatches(
  port: MessagePort,
  commit: (batch: NamedChange[]) => Committed | Promise<Committed>,
  close: () => void | Promise<void>,
): void {
  port.on('message', async (message: NamedChange[number][] | 'close') => {
    if (message === 'close') {
      await close();
      port.close();
      return;
    }
    const { values, failed } = await commit(changesIn(message));
    const answers: Answers = { values, failed: failed.map(describe) };
    port.postMessage(answers);
  });
}

function changesIn(message: NamedChange[number][]): NamedChange[] {
  const changes: NamedChange[] = [];
  for (let i = 0; i < message.length; i += 2) changes.push([message[i], message[i + 1]] as NamedChange);
  return changes;
}

function describe({ index, error }: { index: number; error: unknown }): Failure {
  if (error instanceof DomainError) {
    const { code, message, stack, extra } = error;
    const cause = error.cause instanceof Error ? error.cause.message : null;
    return { index, code, message, stack, extra, cause };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { index, code: null, message, stack, extra: {}, cause: null };
}
