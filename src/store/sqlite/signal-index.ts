import type { Database } from 'better-sqlite3';
import { searchedFacts } from '../../rules/words.ts';
import { type SearchableSignal, signalTerms } from './search-terms.ts';

/**
 * The full-text index of signals, which keeps terms and no text (`content=''`). It is changed in the transaction that
 * changes the signal. To take a signal's terms out FTS5 must be told which they were, so they are made again from the
 * row: a change of what a signal is found by stands between {@link SignalIndex.remove} and {@link SignalIndex.add}.
 */
export interface SignalIndex {
  /** Puts the terms of a row into the index that was not in it. */
  add(id: string): void;
  /** Takes the terms of a row out, before what they are made of is changed. */
  remove(id: string): void;
  /** {@link SignalIndex.add} of the row that the statement before this one inserted, whose columns are given. */
  addInserted(signal: SearchableSignal): void;
  /** Makes the whole index anew. */
  rebuild(): void;
}

/** A `signals` row as its terms are made from it. */
export interface SearchableRow extends Omit<SearchableSignal, 'facts'> {
  wire: string;
}

/** The terms of a stored signal: the same that were made when it came. */
export function termsOfRow({ wire, ...signal }: SearchableRow): string {
  return signalTerms({ ...signal, facts: searchedFacts(JSON.parse(wire)) });
}

export function createSignalIndex(db: Database): SignalIndex {
  const select = db.prepare<[string], SearchableRow>(
    `SELECT tenant_id AS tenantId, profile_id AS profileId, platform, signal_type AS signalType, classification, score,
            company_domain AS companyDomain, text, wire
     FROM signals WHERE id = ?`,
  );
  const insert = db.prepare<[string, string]>(
    'INSERT INTO signal_search (rowid, terms) SELECT seq, ? FROM signals WHERE id = ?',
  );
  const insertLast = db.prepare<[string]>(
    'INSERT INTO signal_search (rowid, terms) VALUES (last_insert_rowid(), ?)',
  );
  const removeTerms = db.prepare<[string, string]>(
    "INSERT INTO signal_search (signal_search, rowid, terms) SELECT 'delete', seq, ? FROM signals WHERE id = ?",
  );

  function add(id: string): void {
    const row = select.get(id);
    if (row !== undefined) insert.run(termsOfRow(row), id);
  }

  function remove(id: string): void {
    const row = select.get(id);
    if (row !== undefined) removeTerms.run(termsOfRow(row), id);
  }

  return {
    add,
    remove,
    addInserted(signal) {
      insertLast.run(signalTerms(signal));
    },
    rebuild() {
      db.exec("INSERT INTO signal_search (signal_search) VALUES ('delete-all')");
      for (const id of db.prepare<[], string>('SELECT id FROM signals ORDER BY seq').pluck().all()) add(id);
    },
  };
}
