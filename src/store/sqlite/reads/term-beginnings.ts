import type { Database, Statement } from 'better-sqlite3';

/** No term holds it, and every longer term that begins alike sorts after it. */
const AFTER_TERM = '\u0001';

/**
 * The first terms of `signal_search`, in their order, that begin with a text, at most so many. From each the next is looked up by
 * itself, past all rows of the one before: a term costs what a look-up does, however common it is.
 */
export function createTermBeginnings(db: Database): (beginning: string, most: number) => string[] {
  let next: Statement<[string], string> | null = null;
  return (beginning, most) => {
    if (next === null) {
      // Of this connection alone: the schema of the file knows nothing of it.
      db.exec(
        'CREATE VIRTUAL TABLE IF NOT EXISTS temp.signal_terms USING fts5vocab(main, signal_search, instance)',
      );
      next = db
        .prepare<[string], string>('SELECT term FROM temp.signal_terms WHERE term >= ? LIMIT 1')
        .pluck();
    }
    const found: string[] = [];
    for (let from = beginning; found.length < most; ) {
      const term = next.get(from);
      if (term === undefined || !term.startsWith(beginning)) break;
      found.push(term);
      from = term + AFTER_TERM;
    }
    return found;
  };
}
