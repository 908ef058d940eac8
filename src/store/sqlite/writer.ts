import type { Database } from 'better-sqlite3';
import type { Changes } from '../changes.ts';
import { commitBatch } from '../commit-batch.ts';
import type { CommitMeter } from '../commit-meter.ts';
import type { StorePulse } from '../figures.ts';
import type { StorageWatch } from '../storage-watch.ts';
import { type Committed, createWriteQueue } from '../write-queue.ts';
import { call, type Run } from './face/promised.ts';
import { createRunner } from './runner.ts';
import { createTransactions } from './transaction.ts';
import { costOf, ownerOf, shareOf } from './weights.ts';
import { createWriteAheadLog } from './write-ahead-log.ts';

/** How it is doing. */
export type WriterPulse = Omit<StorePulse, 'databaseBytes' | 'walBytes' | 'freeBytes' | 'schemaVersion'>;

/** Runs named changes, grouped into transactions; a promise resolves after COMMIT, with what the change returned. */
export interface Writer {
  run: Run<Changes>;
  pulse(): WriterPulse;
  /** Calls `listener` after each commit, before its changes are answered. */
  onCommit(listener: CommitListener): void;
  /** About how many milliseconds a change of this tenant would wait that came now. */
  waitMs(tenantId: string): number;
  /** Commits what waits; later changes are refused. */
  close(): Promise<void>;
}

/** A change by its name, with its arguments. */
export type Call = [name: keyof Changes, args: Parameters<Changes[keyof Changes]>];

type CommitListener = (batch: readonly Call[], committed: Committed) => void;

/** A writer whose batches are stored by `commit`, and which ends with `end`. */
export function createWriter(
  commit: (batch: Call[]) => Promise<Committed>,
  end: () => Promise<void>,
  meter: CommitMeter,
): Writer {
  const { clock } = meter;
  let onCommit: CommitListener | null = null;
  const measured = meter.measure(commit);
  const queue = createWriteQueue<Call>({
    async commit(batch) {
      const committed = await measured(batch);
      onCommit?.(batch, committed);
      return committed;
    },
    ownerOf,
    costOf,
    shareOf,
    clock,
  });
  return {
    run: <K extends keyof Changes>(name: K, args: Parameters<Changes[K]>) =>
      queue.run([name, args]) as Promise<ReturnType<Changes[K]>>,
    pulse: () => ({
      queueLength: queue.length,
      queueLimit: queue.limit,
      accepting: queue.accepting,
      commitSeconds: meter.seconds,
      commitOperations: meter.operations,
      refused: meter.refused,
      underWaySeconds: meter.underWaySeconds,
    }),
    onCommit(listener) {
      onCommit = listener;
    },
    waitMs: queue.waitMs,
    async close() {
      await queue.close();
      await end();
    },
  };
}

/** The same writer, with `watch` told how each change ended. */
export function watchWriter(writer: Writer, watch: StorageWatch): Writer {
  return {
    run(name, args) {
      const result = writer.run(name, args);
      // No link in the caller's chain: what is watched comes no later for it.
      result.then(watch.stored, watch.failed);
      return result;
    },
    pulse: writer.pulse,
    onCommit: writer.onCommit,
    waitMs: writer.waitMs,
    close: writer.close,
  };
}

/** A writer on the caller's own thread and connection: for commands, and for databases in memory. */
export function createInlineWriter(db: Database, meter: CommitMeter): Writer {
  const log = createWriteAheadLog(db);
  const changes = createRunner(db, log);
  const transactions = createTransactions(db, log);
  return createWriter(
    async (batch) => {
      // One batch a turn, so that others get theirs between two commits.
      await new Promise((resolve) => setImmediate(resolve));
      return commitBatch(
        batch.map(
          ([name, args]) =>
            () =>
              call(changes, name, args),
        ),
        transactions,
      );
    },
    async () => {},
    meter,
  );
}
