import type { Database } from 'better-sqlite3';
import type { Transactions } from '../commit-batch.ts';
import type { AttemptCounts } from './attempt-counts.ts';
import { faultOfSqlite } from './database.ts';

/** Runs one transaction per call for the write queue. IMMEDIATE: waits for the lock at the start, not half-way. */
export function createTransaction(
  db: Database,
  log: WriteAheadLog,
  counts?: AttemptCounts,
): Transactions['runBatch'] {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');

  return (work) => {
    try {
      begin.run();
      work();
      counts?.store();
      commit.run();
    } catch (cause) {
      counts?.rollBackTo(0);
      return rolledBack() ?? { cause };
    }
    log.committed();
    return null;
  };

  /** After SQLITE_FULL or IOERR, SQLite may have rolled back by itself (sqlite.org/lang_transaction.html). */
  function rolledBack(): ReturnType<Transactions['runBatch']> {
    try {
      if (db.inTransaction) rollback.run();
      return null;
    } catch (cause) {
      return { cause };
    }
  }
}

/** The transactions for batches of changes. */
export function createTransactions(db: Database, log: WriteAheadLog, counts?: AttemptCounts): Transactions {
  const savepoint = db.prepare('SAVEPOINT part');
  const rollback = db.prepare('ROLLBACK TO part');
  const release = db.prepare('RELEASE part');

  return {
    runBatch: createTransaction(db, log, counts),
    tryPart(work) {
      const counted = counts?.mark ?? 0;
      savepoint.run();
      try {
        work();
        release.run();
        return null;
      } catch (cause) {
        // Some storage errors roll back the whole transaction (sqlite.org/lang_transaction.html).
        if (!db.inTransaction || faultOfSqlite(cause) !== null) throw cause;
        counts?.rollBackTo(counted);
        rollback.run();
        release.run();
        return { cause };
      }
    },
    faultOf: faultOfSqlite,
  };
}

/**
 * Most readers finish within a few milliseconds. Others, such as a search for a phrase that takes seconds, are waited for no longer
 * than this, because all commits wait meanwhile.
 */
const WAIT_FOR_READERS_MS = 20;

/**
 * SQLite's write-ahead log. It contains previous versions of pages until it is overwritten: data that has been
 * overwritten in the file is still in it.
 */
export interface WriteAheadLog {
  /** Called by a change inside its transaction: the log is emptied after the commit. */
  emptyAfterCommit(): void;
  /** Empties it if that was requested; if a reader still needs it, after one of the next commits. */
  committed(): void;
}

/** The log of the writing connection. */
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
