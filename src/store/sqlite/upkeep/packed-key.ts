import type { Database } from 'better-sqlite3';

/** The master key within a backup that was asked to hold it: a table that no server's database has. */
const TABLE = 'packed_key';

/** `text` as the key's file has it. */
export function packKey(db: Database, text: string): void {
  db.exec(
    `CREATE TABLE ${TABLE} (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), text TEXT NOT NULL) STRICT`,
  );
  db.prepare(`INSERT INTO ${TABLE} (id, text) VALUES (1, ?)`).run(text);
}

/** The key that is packed, or null. */
export function packedKey(db: Database): string | null {
  const found = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(TABLE);
  if (found === undefined) return null;
  return db.prepare<[], string>(`SELECT text FROM ${TABLE} WHERE id = 1`).pluck().get() ?? null;
}

/** Takes it out, and leaves none of its bytes in the file. */
export function unpackKey(db: Database): void {
  db.pragma('secure_delete = ON');
  db.exec(`DROP TABLE IF EXISTS ${TABLE}`);
}
