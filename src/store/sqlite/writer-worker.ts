import { parentPort, workerData } from 'node:worker_threads';
import { DomainError, type ErrorCode, type ProblemExtra } from '../../model/errors.ts';
import type { NamedChange } from '../changes.ts';
import { openDatabase } from './database.ts';
import { createCommitter } from './runner.ts';

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

/** Every message is a batch, names and arguments in turn; every answer tells what became of one. */
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
