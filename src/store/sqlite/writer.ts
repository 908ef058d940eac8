import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import { createWriteQueue } from '../write-queue.ts';
import { faultOfSqlite } from './faults.ts';
import { createOperations, type Operations } from './operations.ts';
import { createTransaction } from './transaction.ts';

/** Runs named changes, grouped into transactions; a promise resolves after COMMIT, with what the operation returned. */
export interface Writer {
  run<K extends keyof Operations>(
    name: K,
    ...args: Parameters<Operations[K]>
  ): Promise<ReturnType<Operations[K]>>;
  /** Commits what waits; later changes are refused. */
  close(): Promise<void>;
}

export interface WriterOptions {
  db: Database;
  clock: Clock;
  flushDelayMs?: number;
}

/** A writer on the caller's own thread and connection: for commands, and for databases in memory. */
export function createInlineWriter({ db, ...options }: WriterOptions): Writer {
  const queue = createWriteQueue({ runBatch: createTransaction(db), faultOf: faultOfSqlite, ...options });
  const operations = createOperations(db);
  return {
    run: (name, ...args) => queue.run(() => call(operations, name, args)),
    close: queue.close,
  };
}

/** Calls an operation by name; the one place where the compiler cannot follow which arguments belong to which. */
export function call<K extends keyof Operations>(
  operations: Operations,
  name: K,
  args: Parameters<Operations[K]>,
): ReturnType<Operations[K]> {
  const operation = operations[name] as (...args: Parameters<Operations[K]>) => ReturnType<Operations[K]>;
  return operation(...args);
}
