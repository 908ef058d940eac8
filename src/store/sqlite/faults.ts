import type { StorageFault } from '../commit-batch.ts';

/** SQLite's result code (sqlite.org/rescode.html) of an error, or null where SQLite did not throw it. */
export function sqliteCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return error.code.startsWith('SQLITE_') ? error.code : null;
}

const OUTAGES = ['SQLITE_IOERR', 'SQLITE_BUSY', 'SQLITE_READONLY'];

/** Extended codes (`SQLITE_IOERR_FSYNC`) count as their family. */
export function faultOfSqlite(error: unknown): StorageFault {
  const code = sqliteCode(error);
  if (code === null) return null;
  if (code.startsWith('SQLITE_FULL')) return 'full';
  return OUTAGES.some((family) => code.startsWith(family)) ? 'outage' : null;
}
