import Database from 'better-sqlite3';

/**
 * Every row of every table as text, in a fixed order, without the last use of keys and the revision that it changes.
 */
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
