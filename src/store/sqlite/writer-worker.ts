import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { DomainError, type ErrorCode, type ProblemExtra } from '../../model/errors.ts';
import { createWriteQueue, type Entry } from '../write-queue.ts';
import { openDatabase } from './database.ts';
import { faultOfSqlite } from './faults.ts';
import { createOperations, type Operations } from './operations.ts';
import { createTransaction } from './transaction.ts';
import { call } from './writer.ts';

/** What the thread is started with. */
export interface WriterData {
  file: string;
  busyTimeoutMs: number;
}

/** Changes asked for: number, name and arguments of each in turn. Flat, as an object each costs more to pass than to do. */
export type Calls = (number | keyof Operations | unknown[])[];

/** What became of {@link Calls}, after their COMMIT. */
export interface Answers {
  /** Number and value of each in turn. */
  done: unknown[];
  failed: Failure[];
}

/** An error that is no `DomainError` has no code. */
export interface Failure {
  id: number;
  code: ErrorCode | null;
  message: string;
  stack: string | undefined;
  extra: ProblemExtra;
}

if (parentPort !== null) serve(parentPort, workerData as WriterData);

function serve(port: NonNullable<typeof parentPort>, { file, busyTimeoutMs }: WriterData): void {
  const db = openDatabase(file, { busyTimeoutMs });
  const operations = createOperations(db);
  const runBatch = createTransaction(db);
  const queue = createWriteQueue({ runBatch, faultOf: faultOfSqlite, clock: systemClock, flushDelayMs: 0 });
  let answers: Answers = { done: [], failed: [] };

  /** All answers of one commit go back in one message. */
  function flushSoon(): void {
    if (answers.done.length === 0 && answers.failed.length === 0) setImmediate(flush);
  }

  function flush(): void {
    const results = answers;
    answers = { done: [], failed: [] };
    if (results.done.length > 0 || results.failed.length > 0) port.postMessage(results);
  }

  function entryOf(id: number, name: keyof Operations, args: unknown[]): Entry {
    let value: unknown;
    return {
      execute() {
        value = call(operations, name, args as Parameters<Operations[typeof name]>);
      },
      resolve() {
        flushSoon();
        answers.done.push(id, value);
      },
      reject(error) {
        flushSoon();
        answers.failed.push(describe(id, error));
      },
    };
  }

  async function close(): Promise<void> {
    await queue.close();
    flush();
    db.close();
    port.close();
  }

  port.on('message', (message: Calls | 'close') => {
    if (message === 'close') {
      void close();
      return;
    }
    for (let i = 0; i < message.length; i += 3) {
      queue.add(
        entryOf(message[i] as number, message[i + 1] as keyof Operations, message[i + 2] as unknown[]),
      );
    }
  });
}

function describe(id: number, error: unknown): Failure {
  if (error instanceof DomainError) {
    return { id, code: error.code, message: error.message, stack: error.stack, extra: error.extra };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { id, code: null, message, stack, extra: {} };
}
