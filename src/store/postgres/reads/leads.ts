import { addAll } from '../../../lib/lists.ts';
import { eachInTurns } from '../../../lib/yielding.ts';
import { CLASSIFICATIONS, STAGES } from '../../../model/constants.ts';
import { DomainError } from '../../../model/errors.ts';
import type { Lead, LeadQuery } from '../../../model/lead.ts';
import type { BoardStage, Stage } from '../../../model/pipeline.ts';
import { wordsOf } from '../../../rules/words.ts';
import type {
  BoardColumn,
  LeadScore,
  LeadSignal,
  LeadStore,
  PersonalSignal,
  StageMoveRow,
} from '../../lead-store.ts';
import { pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { ask, row, rows, value, values } from '../sql/prepared.ts';
import { Table } from '../tables.ts';

const MOVES = new Table<Omit<StageMoveRow, 'actor'> & { actorId: string; actorName: string }>('stage_moves', {
  ...{ position: 'plain', previous: 'plain', current: 'plain', reason: 'plain', actorId: 'plain' },
  ...{ actorName: 'plain', movedAt: 'plain', stayedMs: 'plain' },
});

/** Leads and their history. */
export function leadReads(db: Connection) {
  const selectLead = row<[string, string], { wire: string; version: number }>(
    db,
    'SELECT wire, version FROM leads WHERE id = ? AND tenant_id = ?',
  );
  const selectHolders = rows<[string, readonly string[]], { key: string; leadId: string }>(
    db,
    'SELECT key, lead_id AS "leadId" FROM lead_identities WHERE tenant_id = ? AND key = ANY (?)',
  );
  const selectDue = values<[string, string, string, number], string>(
    db,
    'SELECT wire FROM leads WHERE tenant_id = ? AND next_due > ? AND next_due <= ? ORDER BY next_due, id LIMIT ?',
  );
  const selectMoves = MOVES.select<[string, number, number]>(
    db,
    'WHERE lead_id = ? AND position < ? ORDER BY position DESC LIMIT ?',
  );

  return {
    async getLead(tenantId, id) {
      const found = await selectLead(id, tenantId);
      return found === undefined ? null : { lead: JSON.parse(found.wire) as Lead, version: found.version };
    },
    async findIdentities(tenantId, keys) {
      const found = keys.length === 0 ? [] : await selectHolders(tenantId, keys);
      const holders = new Map(found.map(({ key, leadId }) => [key, leadId]));
      return keys.map((key) => ({ key, leadId: holders.get(key) ?? null }));
    },
    listDueSteps: (tenantId, { after = '', until, limit }) => selectDue(tenantId, after, until, limit),
    async pageStageMoves(leadId, { limit, after }) {
      const before = Number(after?.[0] ?? Number.MAX_SAFE_INTEGER);
      return pageOf(await selectMoves.all(leadId, before, limit + 1), limit, {
        toRow: ({ actorId, actorName, ...move }) => ({ ...move, actor: { id: actorId, name: actorName } }),
        position: ({ position }) => [position],
      });
    },
  } satisfies Partial<LeadStore>;
}

/** All keys of the author, including those of cross-posts. */
const KEYS = 'ARRAY(SELECT key FROM signal_people WHERE signal_id = s.id ORDER BY tenant_id, key) AS keys';
const PERSONAL = `s.id, l.lead_id AS "leadId", s.wire, ${KEYS}`;

/** Finds signals of a lead, and of a person without one. `findLeadSignals` ignores a lead that is being erased. */
export function leadSignalReads(db: Connection) {
  const selectSome = rows<[readonly string[], string], LeadSignal>(
    db,
    `SELECT s.id, d.id AS "leadId", s.wire FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
     LEFT JOIN leads d ON d.id = l.lead_id WHERE s.id = ANY (?) AND s.tenant_id = ?`,
  );
  const selectOfPerson = rows<[string, string, string, number], PersonalSignal>(
    db,
    `SELECT ${PERSONAL} FROM signal_people p JOIN signals s ON s.id = p.signal_id
     LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE p.tenant_id = ? AND p.key = ? AND p.signal_id > ? ORDER BY p.signal_id LIMIT ?`,
  );
  const selectFree = rows<[string, readonly string[], number], LeadSignal>(
    db,
    `SELECT s.id, NULL AS "leadId", s.wire FROM signals s
     WHERE s.id IN (SELECT signal_id FROM signal_people WHERE tenant_id = ? AND key = ANY (?))
       AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id)
     ORDER BY s.timestamp DESC, s.id LIMIT ?`,
  );
  const ofBest = (columns: string) =>
    `SELECT ${columns} FROM (
       SELECT b.* FROM unnest(ARRAY['${CLASSIFICATIONS.join("', '")}']) AS c (classification) CROSS JOIN LATERAL (
         SELECT signal_id, score, timestamp FROM lead_signals WHERE lead_id = :leadId AND classification = c.classification
         ORDER BY score DESC, timestamp DESC, signal_id LIMIT :limit::bigint) b) best
     JOIN signals s ON s.id = best.signal_id
     ORDER BY best.score DESC, best.timestamp DESC, best.signal_id LIMIT :limit::bigint`;
  const selectBest = rows<[{ leadId: string; limit: number }], { wire: string; explanation: string }>(
    db,
    ofBest('s.wire, s.explanation'),
  );
  const selectScores = rows<[{ leadId: string; limit: number }], LeadScore>(
    db,
    ofBest('s.profile_id AS "profileId", s.score'),
  );
  const selectOfLead = rows<[string, number, string, number], PersonalSignal & { timestamp: number }>(
    db,
    `SELECT ${PERSONAL}, l.timestamp FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? AND (l.timestamp, l.signal_id) > (?, ?) ORDER BY l.timestamp, l.signal_id LIMIT ?`,
  );

  return {
    findLeadSignals: (tenantId, ids) => selectSome(ids, tenantId),
    pageSignalsOfPerson: async (tenantId, key, { limit, after }) =>
      pageOf(await selectOfPerson(tenantId, key, String(after?.[0] ?? ''), limit + 1), limit, {
        toRow: (signal) => signal,
        position: ({ id }) => [id],
      }),
    findFreeSignalsOfPerson: selectFree,
    async listSignalsOfLead(leadId, limit) {
      const best = await selectBest({ leadId, limit });
      return best.map(({ wire, explanation }) => `${wire.slice(0, -1)},"explanation":${explanation}}`);
    },
    listScoresOfLead: (leadId, limit) => selectScores({ leadId, limit }),
    async pageSignalsOfLead(leadId, { limit, after }) {
      const [timestamp = 0, id = ''] = after ?? [];
      return pageOf(await selectOfLead(leadId, Number(timestamp), String(id), limit + 1), limit, {
        toRow: ({ timestamp: _, ...signal }) => signal,
        position: ({ timestamp, id }) => [timestamp, id],
      });
    },
  } satisfies Partial<LeadStore>;
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

/** Encodes leads as UTF-8, yielding in between: seven stages with a hundred leads of 107 KB each took 0.3 s in one turn. */
function encoded(wires: readonly string[]): Promise<Buffer[]> {
  return eachInTurns(wires, async (wire) => Buffer.from(wire));
}

/** Sorts after every completion of a word. */
const LAST_CHARACTER = '\u{10ffff}';

/**
 * The number of words that are looked up in the index. Each is a join, and planning takes seconds for dozens of them;
 * further words are compared with the leads that have these.
 */
const MOST_SOUGHT = 5;

/** Pages of leads: an index scan in the page's order, no OFFSET, no count. */
export function leadListReads(db: Connection) {
  return {
    async listLeads(tenantId, query) {
      if (query.q !== null && wordsOf(query.q).length === 0) return { rows: [], last: null };
      const { key, direction } = ORDERS[query.sort];
      const { conditions, terms } = conditionsOf(tenantId, query, ORDERS[query.sort]);
      const orderBy = key.map((column) => `l.${column} ${direction}`).join(', ');
      const found = await ask<LeadListRow>(
        db,
        `SELECT l.id, l.created_at, l.score, l.wire FROM leads l
         WHERE ${conditions.join(' AND ')} ORDER BY ${orderBy} LIMIT ?`,
        [...terms, query.limit + 1],
      );
      const { rows: page, last } = pageOf(found, query.limit, {
        toRow: ({ wire }) => wire,
        position: (row) => key.map((column) => row[column]),
      });
      return { rows: await encoded(page), last };
    },
  } satisfies Partial<LeadStore>;
}

function conditionsOf(
  tenantId: string,
  query: LeadQuery,
  { key, direction }: Order,
): { conditions: string[]; terms: unknown[] } {
  const conditions: string[] = [];
  const terms: unknown[] = [];
  const add = (condition: string, ...more: unknown[]) => {
    conditions.push(condition);
    addAll(terms, more);
  };
  const addList = (column: string, wanted: readonly string[]) => {
    if (wanted.length === 1) add(`l.${column} = ?`, wanted[0]);
    else if (wanted.length > 1) add(`l.${column} = ANY (?)`, wanted);
  };
  add('l.tenant_id = ?', tenantId);
  addList('stage', query.stages);
  addList('classification', query.classifications);
  addList('source', query.sources);
  // The conditions of the partial indexes.
  if (query.companyDomains.length > 0) add("l.company_domain <> ''");
  addList('company_domain', query.companyDomains);
  if (query.owners.length > 0) add("l.owner <> ''");
  addList('owner', query.owners);
  if (query.minScore !== null) add('l.score >= ?', query.minScore);
  if (query.identity !== null) {
    add(
      'l.id = (SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?)',
      tenantId,
      query.identity,
    );
  }
  const words = [...new Set(query.q === null ? [] : wordsOf(query.q))];
  for (const word of words.slice(0, MOST_SOUGHT)) {
    const found = 'SELECT lead_id FROM lead_words WHERE tenant_id = ? AND word >= ? AND word < ?';
    add(`l.id IN (${found})`, tenantId, word, `${word}${LAST_CHARACTER}`);
  }
  if (words.length > MOST_SOUGHT) {
    const own = 'w.lead_id = l.id AND w.word >= asked.word AND w.word < asked.word || ?';
    const missing = `SELECT 1 FROM unnest(?::text[]) asked (word)
      WHERE NOT EXISTS (SELECT 1 FROM lead_words w WHERE ${own})`;
    add(`NOT EXISTS (${missing})`, words.slice(MOST_SOUGHT), LAST_CHARACTER);
  }
  if (query.tag !== null) {
    const tagged = 't.tenant_id = ? AND t.tag = ? AND t.created_at = l.created_at AND t.lead_id = l.id';
    add(`EXISTS (SELECT 1 FROM lead_tags t WHERE ${tagged})`, tenantId, query.tag);
  }
  if (query.after !== null) {
    if (query.after.length !== key.length) {
      throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another order.');
    }
    const columns = key.map((column) => `l.${column}`).join(', ');
    add(
      `(${columns}) ${direction === 'DESC' ? '<' : '>'} (${key.map(() => '?').join(', ')})`,
      ...query.after,
    );
  }
  return { conditions, terms };
}

interface SumRow {
  stage: string;
  currency: string | null;
  leads: number;
  amount: number;
}

const NEWEST = `WITH newest AS (
  SELECT id FROM leads WHERE tenant_id = :tenantId AND created_at >= :since
  ORDER BY created_at DESC, id DESC LIMIT :leads)`;

const OPEN_STAGES = STAGES.filter((stage) => stage !== 'won' && stage !== 'lost')
  .map((stage) => `'${stage}'`)
  .join(', ');

/**
 * The pipeline's board. Sums are doubles: large amounts would overflow an integer, and a double represents everything
 * that JSON can.
 */
export function boardReads(db: Connection) {
  const selectSums = rows<[string], SumRow>(
    db,
    `SELECT stage, deal_currency AS currency, count(*) AS leads, coalesce(sum(deal_amount::double precision), 0) AS amount
     FROM leads WHERE tenant_id = ? GROUP BY stage, deal_currency ORDER BY stage, deal_currency`,
  );
  const selectNewest = values<[string, string, number], string>(
    db,
    'SELECT wire FROM leads WHERE tenant_id = ? AND stage = ? ORDER BY created_at DESC, id DESC LIMIT ?',
  );
  // A lead that was lost immediately had been new before.
  const places = STAGES.map((stage, i) => `WHEN '${stage}' THEN ${stage === 'lost' ? 0 : i}`).join(' ');
  const selectFurthest = rows<[Record<string, unknown>], { place: number; leads: number }>(
    db,
    `${NEWEST}, reached AS (
       SELECT n.id, max(CASE m.current ${places} END) AS place
       FROM newest n JOIN stage_moves m ON m.lead_id = n.id GROUP BY n.id)
     SELECT place, count(*) AS leads FROM reached GROUP BY place ORDER BY place`,
  );
  const selectOpenDeals = rows<[string], BoardStage['value'][number]>(
    db,
    `SELECT deal_currency AS currency, sum(deal_amount::double precision) AS amount_minor, count(*) AS deals
     FROM leads WHERE tenant_id = ? AND stage IN (${OPEN_STAGES}) AND deal_currency IS NOT NULL
     GROUP BY deal_currency ORDER BY deal_currency`,
  );
  const countNewest = value<[Record<string, unknown>], number>(db, `${NEWEST} SELECT count(*) FROM newest`);
  const selectStayed = rows<[Record<string, unknown>], { stage: Stage; ms: number }>(
    db,
    `${NEWEST} SELECT m.previous AS stage, avg(m.stayed_ms::double precision) AS ms
     FROM newest n JOIN stage_moves m ON m.lead_id = n.id
     WHERE m.previous IS NOT NULL GROUP BY m.previous ORDER BY m.previous`,
  );

  return {
    sumOpenDeals: selectOpenDeals,
    countLeads: async (tenantId, { since, most }) =>
      (await countNewest({ tenantId, since, leads: most })) ?? 0,
    async readStageFlow(tenantId, { since, leads }) {
      const wanted = { tenantId, since, leads };
      const [furthest, stayed] = await Promise.all([selectFurthest(wanted), selectStayed(wanted)]);
      return {
        leads: furthest.reduce((sum, row) => sum + row.leads, 0),
        furthest: Object.fromEntries(furthest.map((row) => [STAGES[row.place], row.leads])),
        stayed: Object.fromEntries(stayed.map(({ stage, ms }) => [stage, ms])),
      };
    },
    async readBoard(tenantId, limit) {
      const sums = await selectSums(tenantId);
      const columns: BoardColumn[] = [];
      for (const stage of STAGES) {
        const own = sums.filter((row) => row.stage === stage);
        columns.push({
          stage,
          count: own.reduce((count, row) => count + row.leads, 0),
          value: own.flatMap(({ currency, amount, leads }) =>
            currency === null ? [] : [{ currency, amount_minor: amount, deals: leads }],
          ),
          leads: limit === 0 ? [] : await encoded(await selectNewest(tenantId, stage, limit)),
        });
      }
      return columns;
    },
  } satisfies Partial<LeadStore>;
}
