import type { Database } from 'better-sqlite3';
import type { Transactions } from '../commit-batch.ts';
import { faultOfSqlite } from './database.ts';

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

/** What batches of changes are committed with. */
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

/** Readers in this process are done in a few milliseconds; for those of others nobody here waits longer. */
const WAIT_FOR_READERS_MS = 200;

/**
 * SQLite's log of what was written. It holds pages as they were written before, until it is used again: what was
 * overwritten in the file still stands there.
 */
export interface WriteAheadLog {
  /** Asked for by a change, whose transaction is under way: the log is emptied once that is committed. */
  emptyAfterCommit(): void;
  /** Empties it where that was asked for; where a reader still needs it, after one of the next commits. */
  committed(): void;
}

/** The log of the connection that writes. */
export function createWriteAheadLog(db: Database): WriteAheadLog {
  let asked: 'no' | 'now' | 'again' = 'no';

  function isEmptied(waitMs: number): boolean {
    const usual = db.pragma('busy_timeout', { simple: true });
    db.pragma(`busy_timeout = ${waitMs}`);
    try {
      const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      return result?.busy === 0;
    } catch {
      return false; // a failing disk also fails commits, which report it
    } finally {
      db.pragma(`busy_timeout = ${usual}`);
    }
  }

  return {
    emptyAfterCommit() {
      asked = 'now';
    },
    committed() {
      if (asked === 'no') return;
      asked = isEmptied(asked === 'now' ? WAIT_FOR_READERS_MS : 0) ? 'no' : 'again';
    },
  };
}
