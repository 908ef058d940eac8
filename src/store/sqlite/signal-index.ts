import type { Database, Statement } from 'better-sqlite3';
import { phrasesOf, searchedFacts, wordsOf } from '../../rules/words.ts';

/**
 * The full-text index of signals, which stores terms and no text (`content=''`). It is updated in the transaction
 * that changes the signal. To remove a signal's terms, FTS5 needs to know them, so they are computed again from the
 * row: every change of an indexed column is enclosed by {@link SignalIndex.remove} and {@link SignalIndex.add}.
 */
export interface SignalIndex {
  /** Adds the terms of a row that is not in the index. */
  add(id: string): void;
  /** Removes the terms of a row, before the columns they depend on are changed. */
  remove(id: string): void;
  /**
   * Removes some words of a row in advance, so that {@link SignalIndex.remove} has less to do; its filters stay. Returns whether
   * there are more. The table `signal_search_leaving` has the number of removed words until then.
   */
  removeSome(id: string): boolean;
  /** Like {@link SignalIndex.add}, for the row inserted by the previous statement, given its columns. */
  addInserted(signal: SearchableSignal): void;
  /** Rebuilds the whole index. */
  rebuild(): void;
}

/** A `signals` row with the columns that its terms depend on. */
export interface SearchableRow extends Omit<SearchableSignal, 'facts'> {
  wire: string;
}

/** The terms of a stored signal: the same as when it was inserted. */
export function termsOfRow({ wire, ...signal }: SearchableRow): string {
  return signalTerms({ ...signal, facts: searchedFacts(JSON.parse(wire)) });
}

/** Words removed at a time, 2,000 characters of a usual text: each is searched for in all segments of the index, up to 45 us, so that none remains. */
const REMOVED_AT_ONCE = 500;

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

  const selectRemoved = db
    .prepare<[string], number>(
      'SELECT words FROM signal_search_leaving WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
    )
    .pluck();
  const saveRemoved = db.prepare<[number, string]>(
    `INSERT INTO signal_search_leaving (words, seq) SELECT ?, seq FROM signals WHERE id = ?
     ON CONFLICT (seq) DO UPDATE SET words = excluded.words, is_stalled = 0`,
  );
  const forgetRemoved = db.prepare<[string]>(
    'DELETE FROM signal_search_leaving WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
  );

  /** Of the last row: sorting twenty thousand words for each part of them takes as long as removing them. */
  let last: { row: SearchableRow; words: string[] } | null = null;

  function wordsOfRow(row: SearchableRow, terms?: string): string[] {
    const isSame =
      last?.row.text === row.text && last.row.wire === row.wire && last.row.tenantId === row.tenantId;
    if (last === null || !isSame) last = { row, words: wordsIn(terms ?? termsOfRow(row), row.tenantId) };
    return last.words;
  }

  function add(id: string): void {
    const row = select.get(id);
    if (row !== undefined) insert.run(termsOfRow(row), id);
  }

  function remove(id: string): void {
    const row = select.get(id);
    if (row === undefined) return;
    const terms = termsOfRow(row);
    const removed = selectRemoved.get(id);
    if (removed === undefined) {
      removeTerms.run(terms, id);
      return;
    }
    const gone = new Set(wordsOfRow(row, terms).slice(0, removed));
    removeTerms.run(
      terms
        .split(' ')
        .filter((term) => !gone.has(term))
        .join(' '),
      id,
    );
    forgetRemoved.run(id);
  }

  function removeSome(id: string): boolean {
    const row = select.get(id);
    if (row === undefined) return false;
    const words = wordsOfRow(row);
    const from = selectRemoved.get(id) ?? 0;
    const to = Math.min(words.length, from + REMOVED_AT_ONCE);
    if (from === to) return false;
    removeTerms.run(words.slice(from, to).join(' '), id);
    insert.run('', id); // FTS5 counts rows, and each removal as that of a whole row
    saveRemoved.run(to, id);
    return to < words.length;
  }

  return {
    add,
    remove,
    removeSome,
    addInserted(signal) {
      insertLast.run(signalTerms(signal));
    },
    rebuild() {
      db.exec(
        "INSERT INTO signal_search (signal_search) VALUES ('delete-all'); DELETE FROM signal_search_leaving",
      );
      for (const id of db.prepare<[], string>('SELECT id FROM signals ORDER BY seq').pluck().all()) add(id);
    },
  };
}

/**
 * The words of the full-text index `signal_search`. We tokenize the text, and FTS5 only splits at spaces: each term
 * starts with a prefix of its tenant, so that a search never reads other tenants' entries, however common a word is
 * there; and filters are terms, too (`#platform:reddit`), so that words and filters together are one scan of a few
 * sorted lists.
 */

/** The searchable and filterable parts of a signal. */
export interface SearchableSignal {
  tenantId: string;
  profileId: string;
  platform: string;
  signalType: string;
  classification: string;
  score: number;
  companyDomain: string;
  text: string;
  /** Facts about people and company. */
  facts: readonly string[];
}

export type FilterName = 'platform' | 'icp' | 'type' | 'class' | 'domain' | 'score' | 'decade';

/** Separates fields, so that no phrase matches across them. */
const FIELD_GAP = '|';

/** The term of a filter value for signals of `tenantId`. */
export function filterTerm(tenantId: string, name: FilterName, value: string | number): string {
  const text = typeof value === 'number' ? String(value) : encodeURIComponent(value.toWellFormed());
  return `${tenantMark(tenantId)}#${name}:${text}`;
}

/** The words of a search as phrases of the tenant's terms ({@link phrasesOf}). */
export function searchPhrases(tenantId: string, asked: string): string[] {
  return [...new Set(termsOf(tenantId, asked).map((terms) => terms.join(' ')))];
}

/** The same, with all completions of the last phrase; `termsFrom` returns the terms that start with its last word. */
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

/** All terms of a signal in the index's format: separated by spaces. */
function signalTerms(signal: SearchableSignal): string {
  const mark = tenantMark(signal.tenantId);
  // Appends to one string: half of the time to index a signal is spent here.
  let terms = filterTermsOf(signal).join(' ');
  const add = (field: string) => {
    terms += ` ${FIELD_GAP}`;
    for (const word of wordsOf(field)) terms += ` ${mark}${word}`;
  };
  add(signal.text);
  signal.facts.forEach(add);
  return terms;
}

/** The words among a signal's terms, without filters: each once, in a fixed order. */
function wordsIn(terms: string, tenantId: string): string[] {
  const mark = tenantMark(tenantId);
  const words = terms.split(' ').filter((term) => term.startsWith(mark) && term[mark.length] !== '#');
  return [...new Set(words)].sort();
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

/** The whole ID: neighbouring terms share their prefix, which is stored once per page. */
function tenantMark(tenantId: string): string {
  return `${tenantId}~`;
}

/** No term contains it, and every longer term with the same beginning sorts after it. */
const AFTER_TERM = '\u0001';

/**
 * The first `most` terms of `signal_search`, in order, that begin with a text. Each next term is looked up
 * separately, which skips all rows of the previous one: a term costs one look-up, however common it is.
 */
export function createTermBeginnings(db: Database): (beginning: string, most: number) => string[] {
  let next: Statement<[string], string> | null = null;
  return (beginning, most) => {
    if (next === null) {
      // Exists on this connection only, not in the schema of the file.
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
