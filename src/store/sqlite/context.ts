import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import type { Writer } from './writer.ts';

/** What every use case of this driver is handed. */
export interface Context {
  /** For reading only; what is written goes through the writer. */
  db: Database;
  clock: Clock;
  /** Changes resolve after COMMIT. */
  writer: Writer;
  /** Runs at once: SQLite answers synchronously, from what is committed. */
  read<T>(query: () => T): Promise<T>;
}
