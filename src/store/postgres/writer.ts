import { parentPort, workerData } from 'node:worker_threads';
import { createWriter, type Writer, type WriterWatch } from '../writer.ts';
import { serveBatches, startWriterThread } from '../writer-thread.ts';
import { createCommitter } from './commit.ts';
import { type ConnectionConfig, connectLater } from './connection.ts';

/** A writer on the caller's own thread: for commands. */
export function createInlineWriter(config: ConnectionConfig, watch: WriterWatch): Writer {
  const db = connectLater(config);
  return createWriter(createCommitter(db), () => db.close(), watch);
}

/**
 * A writer in a separate thread. A transaction consists of a hundred round trips, and all other changes wait for its end: on the thread that
 * serves requests, the answer to each would wait for the work of other requests, 5 ms and more.
 */
export function createThreadWriter(config: ConnectionConfig, watch: WriterWatch): Writer {
  return startWriterThread(import.meta.url, config, watch);
}

if (parentPort !== null) {
  const db = connectLater(workerData as ConnectionConfig);
  serveBatches(parentPort, createCommitter(db), () => db.close());
}
