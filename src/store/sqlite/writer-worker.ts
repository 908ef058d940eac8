import { parentPort, workerData } from 'node:worker_threads';
import { DomainError, type ErrorCode, type ProblemExtra } from '../../model/errors.ts';
import type { Changes } from '../changes.ts';
import { commitBatch } from '../commit-batch.ts';
import { openDatabase } from './database.ts';
import { call } from './face/promised.ts';
import { createRunner } from './runner.ts';
import { createTransactions } from './transaction.ts';
import { createWriteAheadLog } from './write-ahead-log.ts';
import type { NamedChange } from './writer.ts';

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
  const log = createWriteAheadLog(db);
  const changes = createRunner(db, log);
  const transactions = createTransactions(db, log);

  port.on('message', (message: NamedChange[number][] | 'close') => {
    if (message === 'close') {
      db.close();
      port.close();
      return;
    }
    const { values, failed } = commitBatch(stepsOf(message, changes), transactions);
    const answers: Answers = { values, failed: failed.map(describe) };
    port.postMessage(answers);
  });
}

function stepsOf(message: NamedChange[number][], changes: Changes): (() => unknown)[] {
  return Array.from({ length: message.length / 2 }, (_, i) => {
    const [name, args] = [message[2 * i], message[2 * i + 1]] as NamedChange;
    return () => call(changes, name, args);
  });
}

function describe({ index, error }: { index: number; error: unknown }): Failure {
  if (error instanceof DomainError) {
    return { index, code: error.code, message: error.message, stack: error.stack, extra: error.extra };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { index, code: null, message, stack, extra: {} };
}
