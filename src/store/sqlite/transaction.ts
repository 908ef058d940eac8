import type { Database } from 'better-sqlite3';
import type { Transactions } from '../commit-batch.ts';
import { faultOfSqlite } from './faults.ts';
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

/** What the write queue's batches are committed with. */
export function createTransactions(db: Database, log: WriteAheadLog): Transactions {
  const savepoint = db.prepare('SAVEPOINT part');
  const rollback = db.prepare('ROLLBACK TO part');
  const release = db.prepare('RELEASE part');

  return {
    runBatch: createTransaction(db, log),
    tryPart(work) {
      savepoint.run();
      try {
        work();
        release.run();
        return null;
      } catch (cause) {
        // Some errors of the storage roll all of it back (sqlite.org/lang_transaction.html).
        if (!db.inTransaction || faultOfSqlite(cause) !== null) throw cause;
        rollback.run();
        release.run();
        return { cause };
      }
    },
    faultOf: faultOfSqlite,
  };
}
