import type { Database, Statement } from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { addAll } from '../../../lib/lists.ts';
import { STAGES } from '../../../model/constants.ts';
import { DomainError } from '../../../model/errors.ts';
import type { Page } from '../../../model/filters.ts';
import type { Lead, LeadQuery } from '../../../model/lead.ts';
import type { BoardStage, Stage } from '../../../model/pipeline.ts';
import { wordsOf } from '../../../rules/words.ts';
import type { NamedPerson } from '../../campaign-store.ts';
import type { LeadSignal, LeadStore, PersonalSignal, StageMoveRow } from '../../lead-store.ts';
import { pageOf, type SqlValue, type WhereClause } from '../../pages.ts';
import { type Part, Table } from '../table.ts';

const LEADS = new Table<{ wire: Lead; version: number }>('leads', { wire: 'json', version: 'plain' });

const MOVES = new Table<Omit<StageMoveRow, 'actor'> & { actorId: string; actorName: string }>('stage_moves', {
  position: 'plain',
  previous: 'plain',
  current: 'plain',
  reason: 'plain',
  actorId: 'plain',
  actorName: 'plain',
  movedAt: 'plain',
  stayedMs: 'plain',
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
  const selectMoves = MOVES.select<[string, number, number]>(
    db,
    'WHERE lead_id = ? AND position < ? ORDER BY position DESC LIMIT ?',
  );

  return {
    getLead(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === null ? null : { lead: row.wire, version: row.version };
    },
    listLeads: createLeadList(db),
    findIdentities: (tenantId, keys) =>
      keys.map((key) => ({ key, leadId: selectHolder.get(tenantId, key) ?? null })),
    listDueSteps: (tenantId, { after = '', until, limit }) => selectDue.all(tenantId, after, until, limit),
    pageStageMoves: (leadId, { limit, after }) =>
      pageOf(selectMoves.all(leadId, Number(after?.[0] ?? Number.MAX_SAFE_INTEGER), limit + 1), limit, {
        toRow: ({ actorId, actorName, ...move }) => ({ ...move, actor: { id: actorId, name: actorName } }),
        position: ({ position }) => [position],
      }),
  } satisfies Part<LeadStore>;
}

interface PersonalSignalRow {
  id: string;
  lead_id: string | null;
  wire: string;
  keys: string;
}

/** Finds signals of a lead, and of a person without one. */
/** All keys of the author, including those from other places of the post. */
const KEYS = '(SELECT json_group_array(key) FROM signal_people WHERE signal_id = s.id) AS keys';

export function leadSignalReads(db: Database) {
  // CROSS: from the IDs to their rows; SQLite would scan all signals of the tenant instead.
  const selectSome = db.prepare<[string, string], PersonalSignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS} FROM json_each(?) j CROSS JOIN signals s ON s.id = j.value
     LEFT JOIN lead_signals l ON l.signal_id = s.id WHERE s.tenant_id = ?`,
  );
  const selectOfPerson = db.prepare<[string, string, string, number], PersonalSignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS}
     FROM signal_people p CROSS JOIN signals s ON s.id = p.signal_id LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE p.tenant_id = ? AND p.key = ? AND p.signal_id > ? ORDER BY p.signal_id LIMIT ?`,
  );
  const selectFree = db.prepare<[string, string, number], LeadSignal>(
    `SELECT s.id, NULL AS leadId, s.wire FROM (
       SELECT DISTINCT s.id, s.timestamp FROM signal_people p
         JOIN signals s ON s.id = p.signal_id LEFT JOIN lead_signals l ON l.signal_id = s.id
       WHERE p.tenant_id = ? AND p.key IN (SELECT value FROM json_each(?)) AND l.signal_id IS NULL
       ORDER BY s.timestamp DESC, s.id LIMIT ?) free
     CROSS JOIN signals s ON s.id = free.id ORDER BY free.timestamp DESC, free.id`,
  );
  const selectBest = db.prepare<[string, number], { wire: string; explanation: string }>(
    `SELECT s.wire, s.explanation FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? ORDER BY s.score DESC, s.timestamp DESC, s.id LIMIT ?`,
  );
  const selectOfLead = db.prepare<[string, string, number], PersonalSignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS} FROM lead_signals l CROSS JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? AND l.signal_id > ? ORDER BY l.signal_id LIMIT ?`,
  );

  return {
    findLeadSignals: (tenantId, ids) => selectSome.all(JSON.stringify(ids), tenantId).map(toSignal),
    pageSignalsOfPerson: (tenantId, key, { limit, after }) =>
      pageById(selectOfPerson.all(tenantId, key, String(after?.[0] ?? ''), limit + 1), limit),
    findFreeSignalsOfPerson: (tenantId, keys, limit) => selectFree.all(tenantId, JSON.stringify(keys), limit),
    listSignalsOfLead: (leadId, limit) =>
      selectBest
        .all(leadId, limit)
        .map(({ wire, explanation }) => `${wire.slice(0, -1)},"explanation":${explanation}}`),
    pageSignalsOfLead: (leadId, { limit, after }) =>
      pageById(selectOfLead.all(leadId, String(after?.[0] ?? ''), limit + 1), limit),
  } satisfies Part<LeadStore>;
}

function pageById(found: PersonalSignalRow[], limit: number): Page<PersonalSignal> {
  return pageOf(found, limit, { toRow: toSignal, position: ({ id }) => [id] });
}

function toSignal({ id, lead_id, wire, keys }: PersonalSignalRow): PersonalSignal {
  return { id, leadId: lead_id, wire, keys: JSON.parse(keys) as string[] };
}

interface LeadListRow {
  id: string;
  created_at: number;
  score: number;
  wire: string;
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

/** Pages of leads: an index scan in the page's order, no OFFSET, no count. */
function createLeadList(db: Database): (tenantId: string, query: LeadQuery) => Page<string> {
  const statements = new LRUCache<string, Statement<SqlValue[], LeadListRow>>({ max: MAX_CACHED_SHAPES });

  function prepared(sql: string): Statement<SqlValue[], LeadListRow> {
    const cached = statements.get(sql);
    if (cached !== undefined) return cached;
    const statement = db.prepare<SqlValue[], LeadListRow>(sql);
    statements.set(sql, statement);
    return statement;
  }

  return (tenantId, query) => {
    if (query.q !== null && wordsOf(query.q).length === 0) return { rows: [], last: null };
    const { key } = ORDERS[query.sort];
    const { sql, values } = buildLeadListSql(tenantId, query);
    const found = prepared(sql).all(...values);
    return pageOf(found, query.limit, {
      toRow: (row) => row.wire,
      position: (row) => key.map((column) => row[column]),
    });
  };
}

/** The statement of a query and its values; its text depends only on the query's shape. */
export function buildLeadListSql(tenantId: string, query: LeadQuery): { sql: string; values: SqlValue[] } {
  const { key, direction } = ORDERS[query.sort];
  const byScore = key[0] === 'score';
  // Few leads have a tag: in order of time, the scan starts from its table; in order of score, from the leads.
  const byTag = query.tag !== null && !byScore;
  const where: WhereClause<SqlValue> = { conditions: [], values: [] };
  if (byTag) add(where, 't.tenant_id = ? AND t.tag = ?', tenantId, query.tag ?? '');
  else add(where, 'l.tenant_id = ?', tenantId);

  addFilters(where, tenantId, query, byScore || byTag);
  const columns = key.map((column) => (byTag ? tagColumn(column) : `l.${column}`));
  if (query.after !== null) {
    if (query.after.length !== key.length) {
      throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another order.');
    }
    const comparison = direction === 'DESC' ? '<' : '>';
    add(where, `(${columns.join(', ')}) ${comparison} (${key.map(() => '?').join(', ')})`, ...query.after);
  }
  const from = byTag ? 'lead_tags t CROSS JOIN leads l ON l.id = t.lead_id' : 'leads l';
  const orderBy = columns.map((column) => `${column} ${direction}`).join(', ');
  return {
    sql: `SELECT l.id, l.created_at, l.score, l.wire FROM ${from} WHERE ${where.conditions.join(' AND ')} ORDER BY ${orderBy} LIMIT ?`,
    values: [...where.values, query.limit + 1],
  };
}

function addFilters(
  where: WhereClause<SqlValue>,
  tenantId: string,
  query: LeadQuery,
  ordered: boolean,
): void {
  addList(where, 'stage', query.stages, ordered);
  addList(where, 'classification', query.classifications, ordered);
  addList(where, 'source', query.sources, ordered);
  addDomains(where, query.companyDomains);
  if (query.owners.length > 0) add(where, "l.owner <> ''"); // the condition of the partial index
  addList(where, 'owner', query.owners, ordered);
  if (query.minScore !== null) {
    add(where, query.sort === '-icp_score' ? 'l.score >= ?' : '+l.score >= ?', query.minScore);
  }
  if (query.identity !== null) {
    add(
      where,
      'l.id = (SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?)',
      tenantId,
      query.identity,
    );
  }
  for (const word of query.q === null ? [] : wordsOf(query.q)) {
    const found = 'SELECT lead_id FROM lead_words WHERE tenant_id = ? AND word >= ? AND word < ?';
    add(where, `l.id IN (${found})`, tenantId, word, `${word}${LAST_CHARACTER}`);
  }
  if (query.tag !== null && query.sort === '-icp_score') {
    const tagged = 't.tenant_id = ? AND t.tag = ? AND t.created_at = l.created_at AND t.lead_id = l.id';
    add(where, `EXISTS (SELECT 1 FROM lead_tags t WHERE ${tagged})`, tenantId, query.tag);
  }
}

/** So few leads have a domain that sorting them is cheaper than skipping all others. */
function addDomains(where: WhereClause<SqlValue>, domains: readonly string[]): void {
  const [first] = domains;
  if (first === undefined) return;
  add(where, "l.company_domain <> ''"); // the condition of the partial index
  if (domains.length === 1) add(where, 'l.company_domain = ?', first);
  else add(where, 'l.company_domain IN (SELECT value FROM json_each(?))', JSON.stringify(domains));
}

function tagColumn(column: 'created_at' | 'score' | 'id'): string {
  return column === 'id' ? 't.lead_id' : `t.${column}`;
}

function add(where: WhereClause<SqlValue>, condition: string, ...values: SqlValue[]): void {
  where.conditions.push(condition);
  addAll(where.values, values);
}

/**
 * As in `signal-list.ts`: a single value may use the filter's own index; `+` hides conditions that would force a
 * sort.
 */
function addList(
  where: WhereClause<SqlValue>,
  column: string,
  values: readonly string[],
  ordered: boolean,
): void {
  const [first] = values;
  if (first === undefined) return;
  const name = ordered || values.length > 1 ? `+l.${column}` : `l.${column}`;
  if (values.length === 1) add(where, `${name} = ?`, first);
  else add(where, `${name} IN (SELECT value FROM json_each(?))`, JSON.stringify(values));
}

interface SumRow {
  stage: string;
  currency: string | null;
  leads: number;
  amount: number;
}

const NEWEST_SQL = `WITH newest AS (
  SELECT id FROM leads INDEXED BY leads_by_time WHERE tenant_id = :tenantId AND created_at >= :since
  ORDER BY created_at DESC, id DESC LIMIT :leads)`;

const OPEN_STAGES = STAGES.filter((stage) => stage !== 'won' && stage !== 'lost')
  .map((stage) => `'${stage}'`)
  .join(', ');

/** A lead that was lost immediately had been new before. */
const FURTHEST_SQL = `${NEWEST_SQL}, reached AS (
  SELECT n.id, max(CASE m.current ${STAGES.map((stage, i) => `WHEN '${stage}' THEN ${stage === 'lost' ? 0 : i}`).join(' ')} END) AS place
  FROM newest n JOIN stage_moves m ON m.lead_id = n.id GROUP BY n.id)
SELECT place, count(*) AS leads FROM reached GROUP BY place`;

/** The pipeline's board, counted and summed from the index `leads_by_worth` alone. */
export function boardReads(db: Database) {
  // total(), not sum(): large amounts would overflow an integer, and a double represents everything that JSON can.
  const selectSums = db.prepare<[string], SumRow>(
    `SELECT stage, deal_currency AS currency, count(*) AS leads, total(deal_amount) AS amount
     FROM leads INDEXED BY leads_by_worth WHERE tenant_id = ? GROUP BY stage, deal_currency ORDER BY stage, deal_currency`,
  );
  const selectNewest = db
    .prepare<[string, string, number], string>(
      `SELECT wire FROM leads INDEXED BY leads_by_stage WHERE tenant_id = ? AND stage = ?
       ORDER BY created_at DESC, id DESC LIMIT ?`,
    )
    .pluck();

  const selectFurthest = db.prepare<Record<string, unknown>[], { place: number; leads: number }>(
    FURTHEST_SQL,
  );
  const selectOpenDeals = db.prepare<[string], BoardStage['value'][number]>(
    `SELECT deal_currency AS currency, total(deal_amount) AS amount_minor, count(*) AS deals
     FROM leads INDEXED BY leads_with_deals
     WHERE tenant_id = ? AND stage IN (${OPEN_STAGES}) AND deal_currency IS NOT NULL GROUP BY deal_currency ORDER BY 1`,
  );
  const countNewest = db
    .prepare<Record<string, unknown>[], number>(`${NEWEST_SQL} SELECT count(*) FROM newest`)
    .pluck();
  const selectStayed = db.prepare<Record<string, unknown>[], { stage: Stage; ms: number }>(
    `${NEWEST_SQL} SELECT m.previous AS stage, avg(m.stayed_ms) AS ms FROM newest n JOIN stage_moves m ON m.lead_id = n.id
     WHERE m.previous IS NOT NULL GROUP BY m.previous`,
  );

  return {
    sumOpenDeals: (tenantId) => selectOpenDeals.all(tenantId),
    countLeads: (tenantId, { since, most }) => countNewest.get({ tenantId, since, leads: most }) ?? 0,
    readStageFlow(tenantId, { since, leads }) {
      const wanted = { tenantId, since, leads };
      const furthest = selectFurthest.all(wanted);
      return {
        leads: furthest.reduce((sum, row) => sum + row.leads, 0),
        furthest: Object.fromEntries(furthest.map((row) => [STAGES[row.place], row.leads])),
        stayed: Object.fromEntries(selectStayed.all(wanted).map(({ stage, ms }) => [stage, ms])),
      };
    },
    readBoard(tenantId, limit) {
      const sums = selectSums.all(tenantId);
      return STAGES.map((stage) => {
        const own = sums.filter((row) => row.stage === stage);
        return {
          stage,
          count: own.reduce((count, row) => count + row.leads, 0),
          value: own.flatMap(({ currency, amount, leads }) =>
            currency === null ? [] : [{ currency, amount_minor: amount, deals: leads }],
          ),
          leads: limit === 0 ? [] : selectNewest.all(tenantId, stage, limit),
        };
      });
    },
  } satisfies Part<LeadStore>;
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
