import type { Database, Statement } from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { addAll, largestOf } from '../../../lib/lists.ts';
import { DomainError } from '../../../model/errors.ts';
import type { Position } from '../../../model/filters.ts';
import type { Lead, LeadQuery } from '../../../model/lead.ts';
import type { Stage } from '../../../model/pipeline.ts';
import { wordsOf } from '../../../rules/words.ts';
import type { NamedPerson } from '../../campaign-store.ts';
import type { LeadStore, StageMoveRow } from '../../lead-store.ts';
import { pageOf, type SqlFragment, type SqlValue, type WhereClause } from '../../pages.ts';
import { type Part, Table } from '../table.ts';

const LEADS = new Table<{ wire: Lead; version: number }>('leads', { wire: 'json', version: 'plain' });

const MOVES = new Table<Omit<StageMoveRow, 'actor'> & { actorId: string; actorName: string }>('stage_moves', {
  ...{ position: 'plain', previous: 'plain', current: 'plain', reason: 'plain' },
  ...{ actorId: 'plain', actorName: 'plain', movedAt: 'plain', stayedMs: 'plain' },
});

/** Leads and their history. */
export function leadReads(db: Database) {
  const selectOne = LEADS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectDue = db
    .prepare<[string, string, string, number], string>(
      `SELECT wire FROM leads INDEXED BY leads_by_next_due
       WHERE tenant_id = ? AND next_due > ? AND next_due <= ? ORDER BY next_due, id LIMIT ?`,
    )
    .pluck();
  const selectHolder = db
    .prepare<[string, string], string>('SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?')
    .pluck();
  const countNewest = db
    .prepare<Record<string, unknown>[], number>(`${NEWEST_SQL} SELECT count(*) FROM newest`)
    .pluck();
  const selectMoves = MOVES.select<[string, number, number]>(
    db,
    'WHERE lead_id = ? AND position < ? ORDER BY position DESC LIMIT ?',
  );

  return {
    getLead(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === null ? null : { lead: row.wire, version: row.version };
    },
    findIdentities: (tenantId, keys) =>
      keys.map((key) => ({ key, leadId: selectHolder.get(tenantId, key) ?? null })),
    countLeads: (tenantId, { since, most }) => countNewest.get({ tenantId, since, leads: most }) ?? 0,
    listDueSteps: (tenantId, { after = '', until, limit }) => selectDue.all(tenantId, after, until, limit),
    pageStageMoves: (leadId, { limit, after }) =>
      pageOf(selectMoves.all(leadId, Number(after?.[0] ?? Number.MAX_SAFE_INTEGER), limit + 1), limit, {
        toRow: ({ actorId, actorName, ...move }) => ({ ...move, actor: { id: actorId, name: actorName } }),
        position: ({ position }) => [position],
      }),
  } satisfies Part<LeadStore>;
}

/** The position of a lead in every sort order. */
export interface LeadKey {
  id: string;
  created_at: number;
  score: number;
}

interface Order {
  /** The columns of the keyset, most significant first. */
  key: ('created_at' | 'score' | 'id')[];
  direction: 'ASC' | 'DESC';
}

const ORDERS: Record<LeadQuery['sort'], Order> = {
  '-created_at': { key: ['created_at', 'id'], direction: 'DESC' },
  created_at: { key: ['created_at', 'id'], direction: 'ASC' },
  '-icp_score': { key: ['score', 'created_at', 'id'], direction: 'DESC' },
};

/** Few shapes occur in practice; the limit prevents a client that tries all of them from filling the memory. */
const MAX_CACHED_SHAPES = 256;

/** Sorts after every completion of a word. */
const LAST_CHARACTER = '\u{10ffff}';

/** Up to this number, the leads that have a filter's value are read at once and sorted. */
const MOST_SORTED = 500;

/** A part of a page: matches, and the position of the last lead that was scanned; null: there are no others. */
export interface LeadPart {
  found: LeadKey[];
  next: Position | null;
}

/** Reads a lead as wire JSON in UTF-8, as it is sent; null: there is none. */
function createWireReader(db: Database): (tenantId: string, id: string) => Buffer | null {
  const selectOne = db
    .prepare<[string, string], Buffer>('SELECT CAST(wire AS BLOB) FROM leads WHERE id = ? AND tenant_id = ?')
    .pluck();
  return (tenantId, id) => selectOne.get(id, tenantId) ?? null;
}

/**
 * Pages of leads: scans of an index in the page's order, no OFFSET, no count. A part is limited by the number of leads scanned,
 * not found: with five hundred thousand, a scan for a word that many have took up to 2 s. The leads themselves are read afterwards, a
 * few at a time: a hundred with long fields took 60 ms at once, and 90 ms if they were also sorted.
 */
export function createLeadPages(db: Database) {
  const statements = new LRUCache<string, Statement<SqlValue[], LeadKey>>({ max: MAX_CACHED_SHAPES });

  function all({ sql, values }: SqlFragment<SqlValue>): LeadKey[] {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare<SqlValue[], LeadKey>(sql);
      statements.set(sql, statement);
    }
    return statement.all(...values);
  }

  // One transaction, so that both statements see the same leads.
  const walk = db.transaction((tenantId: string, query: LeadQuery, scan: number): LeadPart => {
    const { part, edge } = buildLeadWalkSql(tenantId, query, scan);
    const found = all(part);
    const end = found.length === query.limit ? found.at(-1) : all(edge).at(0);
    return { found, next: end === undefined ? null : positionOfLead(end, query) };
  });

  return {
    /** The filter whose value at most {@link MOST_SORTED} leads have, so that these are read; null if there is none. */
    rarest(tenantId: string, query: LeadQuery): LeadTerm | null {
      const isRare = ({ found }: LeadTerm) => {
        if (found === null) return false;
        const ids = all({ sql: `${found.sql} LIMIT ?`, values: [...found.values, MOST_SORTED + 1] });
        return ids.length <= MOST_SORTED;
      };
      return termsOf(tenantId, query).find(isRare) ?? null;
    },
    /** All leads after a position that have the value of `rarest`, in order. */
    few: (tenantId: string, query: LeadQuery, rarest: LeadTerm): LeadKey[] =>
      all(buildFewLeadsSql(tenantId, query, rarest)),
    /** Up to `limit` matches among some leads, in their order. */
    among: (tenantId: string, query: LeadQuery, leads: readonly LeadKey[]): LeadKey[] =>
      all(buildMatchingLeadsSql(tenantId, query, leads)),
    /** Scans `scan` leads after a position, and returns up to `limit` matches. */
    walk: (tenantId: string, query: LeadQuery, scan: number): LeadPart => walk(tenantId, query, scan),
    /** A lead as JSON; null if it was erased since. */
    wireOf: createWireReader(db),
  };
}

export function positionOfLead(row: LeadKey, { sort }: Pick<LeadQuery, 'sort'>): Position {
  return ORDERS[sort].key.map((column) => row[column]);
}

/** A filter: its condition on a lead `l` (null: part of another's), and the IDs of all leads with its value, if an index has them. */
export interface LeadTerm {
  /** The column whose own index is in order of time, if the filter has a single value. */
  column: 'owner' | 'company_domain' | 'source' | 'stage' | 'classification' | null;
  value?: string | undefined;
  condition: SqlFragment<SqlValue> | null;
  found: SqlFragment<SqlValue> | null;
}

/** The longest words of a search, of which the rarest is looked for: 200, each of which all of 600 leads had, took 80 ms. */
const TRIED_WORDS = 8;

/** The filters of a query, those that fewer leads tend to match first. */
function termsOf(tenantId: string, query: LeadQuery): LeadTerm[] {
  const terms: LeadTerm[] = [];
  const { identity, tag } = query;
  if (identity !== null) {
    const found = {
      sql: 'SELECT lead_id AS id FROM lead_identities WHERE tenant_id = ? AND key = ?',
      values: [tenantId, identity],
    };
    terms.push({ column: null, condition: { sql: `l.id = (${found.sql})`, values: found.values }, found });
  }
  const words = soughtWords(query.q);
  const hasAll = {
    // A condition for each word would take a second to plan for two hundred.
    sql: `NOT EXISTS (SELECT 1 FROM json_each(?) asked WHERE NOT EXISTS (
      SELECT 1 FROM lead_words w INDEXED BY lead_words_by_lead
      WHERE w.lead_id = l.id AND w.tenant_id = l.tenant_id AND w.word >= asked.value AND w.word < asked.value || ?))`,
    values: [JSON.stringify(words), LAST_CHARACTER],
  };
  for (const [place, word] of words.entries()) {
    const found = {
      sql: 'SELECT lead_id AS id FROM lead_words WHERE tenant_id = ? AND word >= ? AND word < ?',
      values: [tenantId, word, `${word}${LAST_CHARACTER}`],
    };
    if (place < TRIED_WORDS) terms.push({ column: null, condition: place === 0 ? hasAll : null, found });
  }
  if (tag !== null) {
    terms.push({
      column: null,
      condition: {
        sql: `EXISTS (SELECT 1 FROM lead_tags t
          WHERE t.tenant_id = l.tenant_id AND t.tag = ? AND t.created_at = l.created_at AND t.lead_id = l.id)`,
        values: [tag],
      },
      found: {
        sql: 'SELECT lead_id AS id FROM lead_tags WHERE tenant_id = ? AND tag = ?',
        values: [tenantId, tag],
      },
    });
  }
  const addList = (column: NonNullable<LeadTerm['column']>, wanted: readonly string[]) => {
    if (wanted.length === 0) return;
    const own = `${column} IN (SELECT value FROM json_each(?))`;
    const values = [JSON.stringify(wanted)];
    // The conditions of the partial indexes. Stages and classes are too few for a rare one.
    const partial = column === 'owner' || column === 'company_domain' ? `${column} <> '' AND ` : '';
    const found = {
      sql: `SELECT id FROM leads INDEXED BY ${INDEXES[column]} WHERE ${partial}tenant_id = ? AND ${own}`,
      values: [tenantId, ...values],
    };
    terms.push({
      column: wanted.length === 1 ? column : null,
      value: wanted[0],
      condition: { sql: `l.${own}`, values },
      found: column === 'stage' || column === 'classification' ? null : found,
    });
  };
  addList('owner', query.owners);
  addList('company_domain', query.companyDomains);
  addList('source', query.sources);
  addList('stage', query.stages);
  addList('classification', query.classifications);
  if (query.minScore !== null)
    terms.push({ column: null, condition: { sql: 'l.score >= ?', values: [query.minScore] }, found: null });
  return terms;
}

const INDEXES: Record<NonNullable<LeadTerm['column']>, string> = {
  owner: 'leads_by_owner',
  company_domain: 'leads_by_domain',
  source: 'leads_by_source',
  stage: 'leads_by_stage',
  classification: 'leads_by_classification',
};

/** The words of a search, the longest first: each lead that has "anna" has a word that begins with "a". */
export function soughtWords(q: string | null): string[] {
  const words = [...new Set(q === null ? [] : wordsOf(q))];
  // In alphabetical order, a word is followed by one that begins with it, if there is one.
  const inOrder = words.toSorted();
  const begun = new Set(inOrder.filter((word, place) => inOrder[place + 1]?.startsWith(word)));
  return words.filter((word) => !begun.has(word)).sort((a, b) => b.length - a.length);
}

/** The statement of the few leads with the value of `rarest`. */
export function buildFewLeadsSql(tenantId: string, query: LeadQuery, { found }: LeadTerm) {
  const { sql, values } = found as SqlFragment<SqlValue>;
  const { key, direction } = ORDERS[query.sort];
  const where = { conditions: ['+l.tenant_id = ?'], values: [...values, tenantId] };
  addAfter(where, key, query);
  const orderBy = key.map((column) => `l.${column} ${direction}`).join(', ');
  return {
    sql: `${KEYS} (SELECT DISTINCT id FROM (${sql})) few CROSS JOIN leads l ON l.id = few.id
      WHERE ${where.conditions.join(' AND ')} ORDER BY ${orderBy}`,
    values: where.values,
  };
}

/** The statement of the matches among some leads. */
export function buildMatchingLeadsSql(tenantId: string, query: LeadQuery, leads: readonly LeadKey[]) {
  const { conditions, values } = matchesOf(tenantId, query);
  return {
    sql: `${KEYS} json_each(?) some CROSS JOIN leads l ON l.id = some.value WHERE ${conditions.join(' AND ')} LIMIT ?`,
    values: [JSON.stringify(leads.map(({ id }) => id)), ...values, query.limit],
  };
}

const KEYS = 'SELECT l.id, l.created_at, l.score FROM';

/** The conditions of all filters. The tenant is checked of the row as well: isolation must not depend on an index. */
function matchesOf(tenantId: string, query: LeadQuery): WhereClause<SqlValue> {
  const where: WhereClause<SqlValue> = { conditions: ['+l.tenant_id = ?'], values: [tenantId] };
  for (const { condition } of termsOf(tenantId, query))
    if (condition !== null) add(where, condition.sql, ...condition.values);
  return where;
}

/**
 * The statements of a part of a page in order: its matches, and the last lead scanned. By time, one filter may have an index of its
 * own; the other filters are checked row by row. SQLite keeps the order of a subquery with a LIMIT.
 */
export function buildLeadWalkSql(tenantId: string, query: LeadQuery, scan: number) {
  const { key, direction } = ORDERS[query.sort];
  const byScore = key[0] === 'score';
  const byTag = !byScore && query.tag !== null;
  const own = byScore || byTag ? undefined : termsOf(tenantId, query).find(({ column }) => column !== null);
  const index = byScore ? 'leads_by_score' : own?.column ? INDEXES[own.column] : 'leads_by_time';
  const from = byTag ? 'lead_tags l' : `leads l INDEXED BY ${index}`;
  const scope: WhereClause<SqlValue> = { conditions: ['l.tenant_id = ?'], values: [tenantId] };
  if (byTag) add(scope, 'l.tag = ?', query.tag ?? '');
  if (byScore && query.minScore !== null) add(scope, 'l.score >= ?', query.minScore);
  if (own?.column === 'owner' || own?.column === 'company_domain') add(scope, `l.${own.column} <> ''`);
  if (own?.column) add(scope, `l.${own.column} = ?`, own.value ?? '');
  const columns = key.map((column) => (byTag && column === 'id' ? 'lead_id' : column));
  addAfter(scope, columns, query);
  const where = `WHERE ${scope.conditions.join(' AND ')} ORDER BY ${columns.map((column) => `l.${column} ${direction}`).join(', ')}`;
  const [link, linked] = byTag ? ['lead_id', 'id'] : ['rowid', 'rowid'];
  const matches = matchesOf(tenantId, query);
  const edge = columns.map((column, place) => `l.${column} AS ${key[place]}`).join(', ');
  return {
    part: {
      sql: `${KEYS} (SELECT l.${link} AS link FROM ${from} ${where} LIMIT ?) scanned
        CROSS JOIN leads l ON l.${linked} = scanned.link WHERE ${matches.conditions.join(' AND ')} LIMIT ?`,
      values: [...scope.values, scan, ...matches.values, query.limit],
    },
    edge: {
      sql: `SELECT ${edge} FROM ${from} ${where} LIMIT 1 OFFSET ?`,
      values: [...scope.values, scan - 1],
    },
  };
}

/** Continues after the position of `query`. @throws DomainError `INVALID_CURSOR` */
function addAfter(
  where: WhereClause<SqlValue>,
  columns: readonly string[],
  { sort, after }: LeadQuery,
): void {
  if (after === null) return;
  const { key, direction } = ORDERS[sort];
  if (after.length !== key.length)
    throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another order.');
  const comparison = direction === 'DESC' ? '<' : '>';
  const names = columns.map((column) => `l.${column}`).join(', ');
  add(where, `(${names}) ${comparison} (${key.map(() => '?').join(', ')})`, ...after);
}

function add(where: WhereClause<SqlValue>, condition: string, ...values: SqlValue[]): void {
  where.conditions.push(condition);
  addAll(where.values, values);
}

/** Leads of a stage whose deals have the same currency; null: none. */
export interface DealSum {
  stage: Stage;
  currency: string | null;
  leads: number;
  amount: number;
}

/** A position in the index `leads_by_worth`: after the lead `row` among those of the same amount. */
export interface WorthPlace {
  stage: Stage;
  currency: string | null;
  amount: number | null;
  row: number;
}

const OF_CURRENCY = `FROM leads INDEXED BY leads_by_worth
  WHERE tenant_id = :tenantId AND stage = :stage AND deal_currency IS :currency`;
const OF_AMOUNT = `${OF_CURRENCY} AND deal_amount IS :amount AND rowid > :row`;

/** The pipeline's board: its sums are read from the index `leads_by_worth` alone, in parts of a bounded number of leads. */
export function createBoardScans(db: Database) {
  // Leads of the same amount, such as those without a deal, are in the order of their rows.
  const selectRow = db
    .prepare<Record<string, unknown>[], number>(
      `SELECT rowid ${OF_AMOUNT} ORDER BY rowid LIMIT 1 OFFSET :scan`,
    )
    .pluck();
  const countRows = db.prepare<Record<string, unknown>[], number>(`SELECT count(*) ${OF_AMOUNT}`).pluck();
  const selectAmount = db
    .prepare<Record<string, unknown>[], number>(
      `SELECT deal_amount ${OF_CURRENCY} AND deal_amount > ifnull(:amount, -1) ORDER BY deal_amount LIMIT 1 OFFSET :scan`,
    )
    .pluck();
  // total(), not sum(): large amounts would overflow an integer, and a double represents everything that JSON can.
  const selectSum = db.prepare<Record<string, unknown>[], { leads: number; amount: number }>(
    `SELECT count(*) AS leads, total(deal_amount) AS amount ${OF_CURRENCY} AND deal_amount > ifnull(:amount, -1) AND deal_amount < :end`,
  );
  const selectCurrency = db
    .prepare<[string, string, string], string>(
      `SELECT deal_currency FROM leads INDEXED BY leads_by_worth
       WHERE tenant_id = ? AND stage = ? AND deal_currency > ? ORDER BY deal_currency LIMIT 1`,
    )
    .pluck();

  const selectNewest = db
    .prepare<[string, string, number], string>(
      `SELECT id FROM leads INDEXED BY leads_by_stage WHERE tenant_id = ? AND stage = ?
       ORDER BY created_at DESC, id DESC LIMIT ?`,
    )
    .pluck();

  /** The next leads after a position, at most twice `scan`; `end`: where they end, null: with their currency. */
  function sumSome(tenantId: string, place: WorthPlace, scan: number) {
    const { currency, amount } = place;
    const of = { tenantId, ...place, scan: scan - 1 };
    const row = selectRow.get(of);
    if (row !== undefined) return { leads: scan, amount: scan * (amount ?? 0), end: { ...place, row } };
    const leads = countRows.get(of) ?? 0;
    if (currency === null) return { leads, amount: 0, end: null };
    const next = selectAmount.get(of);
    const more = selectSum.get({ ...of, end: next ?? Number.POSITIVE_INFINITY });
    return {
      leads: leads + (more?.leads ?? 0),
      amount: leads * (amount ?? 0) + (more?.amount ?? 0),
      end: next === undefined ? null : { ...place, amount: next, row: -1 },
    };
  }

  function nextCurrency(tenantId: string, { stage, currency }: WorthPlace): WorthPlace | null {
    const next = selectCurrency.get(tenantId, stage, currency ?? '');
    return next === undefined ? null : { stage, currency: next, amount: null, row: -1 };
  }

  return {
    /** The first position of a stage, before leads without a deal. */
    startOf: (stage: Stage): WorthPlace => ({ stage, currency: null, amount: null, row: -1 }),
    /** IDs, newest first. */
    newestOf: (tenantId: string, stage: Stage, limit: number): string[] =>
      selectNewest.all(tenantId, stage, limit),
    wireOf: createWireReader(db),
    /** The sum of the next leads after a position, at most twice `scan`, and the next position; null: there is none in this stage. */
    next(tenantId: string, place: WorthPlace, scan: number): { sum: DealSum; next: WorthPlace | null } {
      const { leads, amount, end } = sumSome(tenantId, place, scan);
      const { stage, currency } = place;
      return { sum: { stage, currency, leads, amount }, next: end ?? nextCurrency(tenantId, place) };
    },
    /** The first position of a stage's leads with a deal; null if it has none. */
    dealsOf: (tenantId: string, stage: Stage): WorthPlace | null =>
      nextCurrency(tenantId, { stage, currency: null, amount: null, row: -1 }),
  };
}

const NEWEST_SQL = `WITH newest AS (
  SELECT id FROM leads INDEXED BY leads_by_time WHERE tenant_id = :tenantId AND created_at >= :since
  ORDER BY created_at DESC, id DESC LIMIT :leads)`;

/** Moves of a lead from one stage to another; `ms`: the sum of their stays in the first one. */
interface MovesBetween {
  previous: Stage | null;
  current: Stage;
  moves: number;
  stays: number;
  ms: number;
  last: number;
}

/** How leads move through the pipeline. */
export function createFlowScans(db: Database) {
  const selectNewest = db
    .prepare<Record<string, unknown>[], string>(`${NEWEST_SQL} SELECT id FROM newest`)
    .pluck();
  const selectMoves = db.prepare<[string, number, number], MovesBetween>(
    `SELECT previous, current, count(*) AS moves, count(stayed_ms) AS stays, total(stayed_ms) AS ms, max(position) AS last
     FROM (SELECT previous, current, stayed_ms, position FROM stage_moves
           WHERE lead_id = ? AND position > ? ORDER BY position LIMIT ?)
     GROUP BY previous, current`,
  );
  return {
    newest: (tenantId: string, of: { since: number; leads: number }): string[] =>
      selectNewest.all({ tenantId, ...of }),
    /** The next moves of a lead after a position, and the position of the last one; null: there are no more. */
    moves(leadId: string, after: number, scan: number): { between: MovesBetween[]; next: number | null } {
      const between = selectMoves.all(leadId, after, scan);
      const count = between.reduce((sum, { moves }) => sum + moves, 0);
      return { between, next: count < scan ? null : largestOf(between.map(({ last }) => last)) };
    },
  };
}

/** All identities of a named person, from the leads. */
export function createLeadAliases(db: Database) {
  const exists = db
    .prepare<[string, string], number>('SELECT 1 FROM leads WHERE id = ? AND tenant_id = ?')
    .pluck();
  const selectLead = db
    .prepare<[string, string], string>('SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?')
    .pluck();
  const selectAddress = db
    .prepare<[string], string>(
      "SELECT key FROM lead_identities WHERE lead_id = ? AND key >= 'email:' AND key < 'email;'",
    )
    .pluck();

  return {
    /** The lead's ID, the given address, and the lead's own, in this order; null if the tenant has no such lead. */
    aliasesOf(tenantId: string, { leadId, email }: NamedPerson): string[] | null {
      if (leadId !== null && exists.get(leadId, tenantId) === undefined) return null;
      const given = email === null ? [] : [`email:${email}`];
      const known = leadId ?? (email === null ? undefined : selectLead.get(tenantId, `email:${email}`));
      if (known === undefined) return given;
      return [...new Set([known, ...given, ...selectAddress.all(known)])];
    },
    /** The person with what the leads add: a lead's address, or the lead with an address. */
    complete(tenantId: string, { leadId, email }: NamedPerson): NamedPerson {
      if (leadId === null) {
        const found = email === null ? undefined : selectLead.get(tenantId, `email:${email}`);
        return { leadId: found ?? null, email };
      }
      if (email !== null || exists.get(leadId, tenantId) === undefined) return { leadId, email };
      return { leadId, email: selectAddress.get(leadId)?.slice('email:'.length) ?? null };
    },
  };
}
