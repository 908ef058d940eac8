import type { Database } from 'better-sqlite3';

/** The row that is read back to know that the storage answers. */
export function storageReads(db: Database) {
  const select = db.prepare<[], number>('SELECT at FROM probe WHERE id = 1').pluck();

  return { readProbe: () => select.get() ?? 0 };
}
