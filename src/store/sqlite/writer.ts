import type { Database } from 'better-sqlite3';
import type { Changes } from '../changes.ts';
import { commitBatch } from '../commit-batch.ts';
import type { CommitMeter } from '../commit-meter.ts';
import type { StorePulse } from '../figures.ts';
import type { StorageWatch } from '../storage-watch.ts';
import { costOf, ownerOf, shareOf } from '../weights.ts';
import { type Committed, createWriteQueue } from '../write-queue.ts';
import { call } from './face/promised.ts';
import { createRunner } from './runner.ts';
import { createTransactions } from './transaction.ts';
import { createWriteAheadLog } from './write-ahead-log.ts';

/** How it is doing. */
export type WriterPulse = Omit<StorePulse, 'databaseBytes' | 'walBytes' | 'freeBytes' | 'schemaVersion'>;

/** Runs named changes, grouped into transactions. */
export interface Writer {
  /** Resolves after COMMIT, with what the change returned. */
  run(change: NamedChange): Promise<unknown>;
  pulse(): WriterPulse;
  /** Calls `listener` after each commit, before its changes are answered. */
  onCommit(listener: CommitListener): void;
  /** About how many milliseconds a change of this tenant would wait that came now. */
  waitMs(tenantId: string): number;
  /** Commits what waits; later changes are refused. */
  close(): Promise<void>;
}

/** A change by its name, with its arguments. */
export type NamedChange = [name: keyof Changes, args: Parameters<Changes[keyof Changes]>];

type CommitListener = (batch: readonly NamedChange[], committed: Committed) => void;

/** Who watches a writer's commits: how long they take, and whether the storage takes them (null: nobody). */
export interface WriterWatch {
  meter: CommitMeter;
  storage: StorageWatch | null;
}

/** A writer whose batches are stored by `commit`, and which ends with `end`. */
export function createWriter(
  commit: (batch: NamedChange[]) => Promise<Committed>,
  end: () => Promise<void>,
  { meter, storage }: WriterWatch,
): Writer {
  const { clock } = meter;
  let onCommit: CommitListener | null = null;
  const queue = createWriteQueue<NamedChange>({
    async commit(batch) {
      const ended = meter.begin(batch.length);
      let failed: Committed['failed'] = [];
      let committed: Committed;
      try {
        committed = await commit(batch);
        ({ failed } = committed);
      } finally {
        ended(failed);
      }
      for (const { error } of failed) storage?.failed(error);
      if (failed.length < batch.length) storage?.stored();
      onCommit?.(batch, committed);
      return committed;
    },
    ownerOf,
    costOf,
    shareOf,
    clock,
  });
  return {
    run: queue.run,
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

/** A writer on the caller's own thread and connection: for commands, and for databases in memory. */
export function createInlineWriter(db: Database, watch: WriterWatch): Writer {
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
    watch,
  );
}
