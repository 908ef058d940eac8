import Database from 'better-sqlite3';

/** Every row of every table as text, in a fixed order; what tells of a key's use alone is left out, and the count that it moves. */
export function readRows(file: string): Record<string, string[]> {
  const db = new Database(file, { readonly: true });
  try {
    const tables = db
      .prepare<[], { name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
      )
      .all();
    return Object.fromEntries(tables.map(({ name }) => [name, rowsOf(db, name)]));
  } finally {
    db.close();
  }
}

function rowsOf(db: Database.Database, table: string): string[] {
  const rows = db.prepare<[], Record<string, unknown>>(`SELECT * FROM "${table}"`).all();
  return rows.map(({ last_used_at: _, revision: __, ...row }) => JSON.stringify(row)).sort();
}
