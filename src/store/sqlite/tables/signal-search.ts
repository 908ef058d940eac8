import type { Database } from 'better-sqlite3';
import { searchedFacts } from '../../../model/signal.ts';
import { type SearchableSignal, signalTerms } from '../search-terms.ts';

/**
 * The full-text index of signals, which keeps terms and no text (`content=''`). It is changed in the transaction that
 * changes the signal. To take a signal's terms out FTS5 must be told which they were, so they are made again from the
 * row: whoever changes what a signal is found by does it inside {@link SignalSearchSql.reindex}.
 */
export interface SignalSearchSql {
  /** Puts the terms of a row into the index that was not in it. */
  index(id: string): void;
  /** Takes the row's terms out, from the pages of the file too. Before the row is changed or deleted. */
  unindex(id: string): void;
  /** Runs `change`, which may alter the row or delete it, and leaves the index as the row then is. */
  reindex(id: string, change: () => void): void;
  /** {@link SignalSearchSql.index} of the row that the statement before this one inserted, whose columns are given. */
  indexInserted(signal: SearchableSignal): void;
}

/** A `signals` row as its terms are made from it. */
export interface SearchableRow extends Omit<SearchableSignal, 'facts'> {
  wire: string;
}

/** The terms of a stored signal: the same that were made when it came. */
export function termsOfRow({ wire, ...signal }: SearchableRow): string {
  return signalTerms({ ...signal, facts: searchedFacts(JSON.parse(wire)) });
}

export function createSignalSearchSql(db: Database): SignalSearchSql {
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
  const remove = db.prepare<[string, string]>(
    "INSERT INTO signal_search (signal_search, rowid, terms) SELECT 'delete', seq, ? FROM signals WHERE id = ?",
  );

  function index(id: string): void {
    const row = select.get(id);
    if (row !== undefined) insert.run(termsOfRow(row), id);
  }

  function unindex(id: string): void {
    const row = select.get(id);
    if (row !== undefined) remove.run(termsOfRow(row), id);
  }

  return {
    index,
    unindex,
    reindex(id, change) {
      unindex(id);
      change();
      index(id);
    },
    indexInserted(signal) {
      insertLast.run(signalTerms(signal));
    },
  };
}
