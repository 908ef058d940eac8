import type { NamedChange } from './changes.ts';
import type { CommitMeter } from './commit-meter.ts';
import type { StorePulse } from './figures.ts';
import type { StorageWatch } from './storage-watch.ts';
import { costOf, ownerOf, shareOf } from './weights.ts';
import { type Committed, createWriteQueue } from './write-queue.ts';

/** The state of a writer. */
export type WriterPulse = Omit<
  StorePulse,
  'databaseBytes' | 'walBytes' | 'freeBytes' | 'schemaVersion' | 'clockSkewMs'
>;

/** Runs named changes, grouped into transactions. */
export interface Writer {
  /** Resolves after COMMIT, with the result of the change. */
  run(change: NamedChange): Promise<unknown>;
  pulse(): WriterPulse;
  /** Calls `listener` after each commit, before its changes are answered. */
  onCommit(listener: CommitListener): void;
  /** Estimated wait of a new change of this tenant, in milliseconds. */
  waitMs(tenantId: string): number;
  /** Commits waiting changes; later ones are refused. */
  close(): Promise<void>;
}

type CommitListener = (batch: readonly NamedChange[], committed: Committed) => void;

/** Observers of a writer's commits: their duration, and whether the storage accepts them (null: not observed). */
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
  const listeners: CommitListener[] = [];
  const queue = createWriteQueue<NamedChange>({
    commit,
    watch(batch) {
      const ended = meter.begin(batch.length);
      return (committed) => {
        const failed = committed?.failed ?? [];
        ended(failed);
        if (committed === null) return;
        for (const { error } of failed) storage?.failed(error);
        if (failed.length < batch.length) storage?.stored();
        for (const listener of listeners) listener(batch, committed);
      };
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
    onCommit: (listener) => void listeners.push(listener),
    waitMs: queue.waitMs,
    async close() {
      await queue.close();
      await end();
    },
  };
}
