import type { Database } from 'better-sqlite3';

/** The row that is written to know that the storage can be. */
export function storageChanges(db: Database) {
  const update = db.prepare<[number]>('UPDATE probe SET at = ? WHERE id = 1');

  return { writeProbe: (now: number) => void update.run(now) };
}
