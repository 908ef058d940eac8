import type { Database } from 'better-sqlite3';
import { phrasesOf, searchedFacts, wordsOf } from '../../rules/words.ts';

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

/**
 * The words of the full-text index `signal_search`. We cut them ourselves, and FTS5 splits at spaces alone: each term
 * begins with its tenant's mark, so that a tenant's search reads nothing of other tenants, however common the word is
 * there; and what a list can be filtered by is a term too (`#platform:reddit`), so that words and filters together are
 * one walk along a few sorted lists.
 */

/** What of a signal is searched and filtered by. */
export interface SearchableSignal {
  tenantId: string;
  profileId: string;
  platform: string;
  signalType: string;
  classification: string;
  score: number;
  companyDomain: string;
  text: string;
  /** Of people and company. */
  facts: readonly string[];
}

export type FilterName = 'platform' | 'icp' | 'type' | 'class' | 'domain' | 'score' | 'decade';

/** Stands between fields, so that no phrase reaches from one into the next. */
const FIELD_GAP = '|';

/** The term under which signals of `tenantId` with that value of a filter are found. */
export function filterTerm(tenantId: string, name: FilterName, value: string | number): string {
  const text = typeof value === 'number' ? String(value) : encodeURIComponent(value.toWellFormed());
  return `${tenantMark(tenantId)}#${name}:${text}`;
}

/** What a person asks for, as phrases of the tenant's terms ({@link phrasesOf}). */
export function searchPhrases(tenantId: string, asked: string): string[] {
  return [...new Set(termsOf(tenantId, asked).map((terms) => terms.join(' ')))];
}

/** The same, with every completion of the last phrase; `termsFrom` returns the terms that begin with its last word. */
export function begunPhrases(
  tenantId: string,
  asked: string,
  termsFrom: (beginning: string) => readonly string[],
): { whole: string[]; begun: string[] } {
  const phrases = termsOf(tenantId, asked);
  const last = phrases.pop() ?? [];
  const beginning = last.pop();
  if (beginning === undefined) return { whole: [], begun: [] };
  return {
    whole: [...new Set(phrases.map((terms) => terms.join(' ')))],
    begun: termsFrom(beginning).map((term) => [...last, term].join(' ')),
  };
}

function termsOf(tenantId: string, asked: string): string[][] {
  const mark = tenantMark(tenantId);
  return phrasesOf(asked).map((words) => words.map((word) => mark + word));
}

/** Everything a signal is found by, as the index takes it: terms with spaces between them. */
function signalTerms(signal: SearchableSignal): string {
  const mark = tenantMark(signal.tenantId);
  // One string that grows, as half of a signal's way into the index is spent here.
  let terms = filterTermsOf(signal).join(' ');
  const add = (field: string) => {
    terms += ` ${FIELD_GAP}`;
    for (const word of wordsOf(field)) terms += ` ${mark}${word}`;
  };
  add(signal.text);
  signal.facts.forEach(add);
  return terms;
}

function filterTermsOf(signal: SearchableSignal): string[] {
  const term = (name: FilterName, value: string | number) => filterTerm(signal.tenantId, name, value);
  return [
    term('platform', signal.platform),
    term('icp', signal.profileId),
    term('type', signal.signalType),
    term('class', signal.classification),
    term('score', signal.score),
    term('decade', Math.floor(signal.score / 10)),
    ...(signal.companyDomain === '' ? [] : [term('domain', signal.companyDomain)]),
  ];
}

/** The whole id: neighbours in the index share their beginning, which is stored once a page. */
function tenantMark(tenantId: string): string {
  return `${tenantId}~`;
}
