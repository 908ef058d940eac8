import type { Database } from 'better-sqlite3';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** One transaction a call, as the write queue wants it. IMMEDIATE: a lock is met at the start, not half way. */
export function createTransaction(db: Database, log?: WriteAheadLog): (work: () => void) => void {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');

  return (work) => {
    begin.run();
    try {
      work();
      commit.run();
    } catch (error) {
      // After SQLITE_FULL or IOERR SQLite may have rolled back by itself (sqlite.org/lang_transaction.html).
      if (db.inTransaction) rollback.run();
      throw error;
    }
    log?.committed();
  };
}
