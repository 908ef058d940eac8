import { addAll } from '../../../lib/lists.ts';
import { STAGES } from '../../../model/constants.ts';
import { DomainError } from '../../../model/errors.ts';
import type { LeadQuery } from '../../../model/lead.ts';
import type { BoardStage, Stage } from '../../../model/pipeline.ts';
import { wordsOf } from '../../../rules/words.ts';
import type { LeadStore } from '../../lead-store.ts';
import { pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { ask, rows, value, values } from '../sql/prepared.ts';

interface ListRow {
  id: string;
  created_at: number;
  score: number;
  wire: string;
}

interface Order {
  /** Columns of the keyset, most significant first. */
  key: ('created_at' | 'score' | 'id')[];
  direction: 'ASC' | 'DESC';
}

const ORDERS: Record<LeadQuery['sort'], Order> = {
  '-created_at': { key: ['created_at', 'id'], direction: 'DESC' },
  created_at: { key: ['created_at', 'id'], direction: 'ASC' },
  '-icp_score': { key: ['score', 'created_at', 'id'], direction: 'DESC' },
};

/** Sorts after whatever a word goes on with. */
const LAST_CHARACTER = '\u{10ffff}';

/** Pages of leads: a walk along an index that ends in the page's order, no OFFSET, no count. */
export function leadListReads(db: Connection) {
  return {
    async listLeads(tenantId, query) {
      if (query.q !== null && wordsOf(query.q).length === 0) return { rows: [], last: null };
      const { key, direction } = ORDERS[query.sort];
      const { conditions, terms } = conditionsOf(tenantId, query, ORDERS[query.sort]);
      const orderBy = key.map((column) => `l.${column} ${direction}`).join(', ');
      const found = await ask<ListRow>(
        db,
        `SELECT l.id, l.created_at, l.score, l.wire FROM leads l
         WHERE ${conditions.join(' AND ')} ORDER BY ${orderBy} LIMIT ?`,
        [...terms, query.limit + 1],
      );
      return pageOf(found, query.limit, {
        toRow: (row) => row.wire,
        position: (row) => key.map((column) => row[column]),
      });
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
  // As the partial indexes say.
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
  for (const word of query.q === null ? [] : wordsOf(query.q)) {
    const found = 'SELECT lead_id FROM lead_words WHERE tenant_id = ? AND word >= ? AND word < ?';
    add(`l.id IN (${found})`, tenantId, word, `${word}${LAST_CHARACTER}`);
  }
  if (query.tag !== null) {
    const tagged = 't.tenant_id = ? AND t.tag = ? AND t.created_at = l.created_at AND t.lead_id = l.id';
    add(`EXISTS (SELECT 1 FROM lead_tags t WHERE ${tagged})`, tenantId, query.tag);
  }
  if (query.after !== null) {
    if (query.after.length !== key.length) {
      throw new DomainError('INVALID_CURSOR', 'The cursor is of another order.');
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

/** The pipeline's board. Sums are doubles: the largest amounts would overflow, and JSON carries no more anyway. */
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
  // A lead that was lost at once was new before.
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
      const [sums, ...newest] = await Promise.all([
        selectSums(tenantId),
        ...STAGES.map((stage) => (limit === 0 ? [] : selectNewest(tenantId, stage, limit))),
      ]);
      return STAGES.map((stage, place) => {
        const own = sums.filter((row) => row.stage === stage);
        return {
          stage,
          count: own.reduce((count, row) => count + row.leads, 0),
          value: own.flatMap(({ currency, amount, leads }) =>
            currency === null ? [] : [{ currency, amount_minor: amount, deals: leads }],
          ),
          leads: newest[place] ?? [],
        };
      });
    },
  } satisfies Partial<LeadStore>;
}
