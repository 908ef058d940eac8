import { parentPort, workerData } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { createWriter, type Writer, type WriterWatch } from '../writer.ts';
import { serveBatches, startWriterThread } from '../writer-thread.ts';
import { openDatabase } from './database.ts';
import { createCommitter } from './runner.ts';

/** A writer on the caller's own thread and connection: for commands, and for in-memory databases. */
export function createInlineWriter(db: Database, watch: WriterWatch): Writer {
  const commit = createCommitter(db);
  return createWriter(
    async (batch) => {
      // One batch per turn of the event loop, so that other work runs between commits.
      await new Promise((resolve) => setImmediate(resolve));
      return commit(batch);
    },
    async () => {},
    watch,
  );
}

/** The data that the thread is started with. */
export interface WriterData {
  file: string;
  busyTimeoutMs: number;
}

/**
 * A writer in a separate thread: neither disk flushes nor SQL delay the thread that serves requests and sends deliveries.
 */
export function createThreadWriter(data: WriterData, watch: WriterWatch): Writer {
  return startWriterThread(import.meta.url, data, watch);
}

if (parentPort !== null) {
  const { file, busyTimeoutMs } = workerData as WriterData;
  const db = openDatabase(file, { busyTimeoutMs });
  serveBatches(parentPort, createCommitter(db), () => void db.close());
}
