import { commaSeparated } from '../../../lib/json.ts';
import { addAll } from '../../../lib/lists.ts';
import { CLASSIFICATIONS } from '../../../model/constants.ts';
import { DomainError } from '../../../model/errors.ts';
import type { SignalQuery, TriageFilter } from '../../../model/signal.ts';
import type { SignalPage, SignalStore } from '../../signal-store.ts';
import type { Connection } from '../connection.ts';
import { wordsQuery } from '../search-words.ts';
import { ask } from '../sql/prepared.ts';
import { createProfileResolver } from './profiles.ts';

/** `seq` is (timestamp << 21) + (number within the millisecond << 7) + score. */
const TIME_SHIFT = 21n;
const PLACE_MASK = 2n ** TIME_SHIFT - 1n;
const SCORE_MASK = 127n;
const MAX_SEQ = 2n ** 63n - 1n;
const MAX_TIME = Number(MAX_SEQ >> TIME_SHIFT);

interface SignalListRow {
  seq: string;
  wire: string;
  explanation: string | null;
}

const STATES: Record<TriageFilter['state'], string> = {
  open: 'NOT x.is_done AND coalesce(x.snoozed_until <= ?, true)',
  snoozed: 'x.snoozed_until IS NOT NULL AND NOT x.is_done AND x.snoozed_until > ?',
  done: 'x.is_done',
  all: 'true',
};

const ORDERS: Record<SignalQuery['sort'], string> = {
  '-timestamp': 's.seq DESC',
  timestamp: 's.seq',
  '-icp_score': 's.score DESC, s.seq DESC',
};

/**
 * The server does not know how rare an external ID is: along the scores, it would extract that of every signal of the tenant. A sum is in
 * no index's order, so that the signals of the ID are found first, by theirs, and sorted.
 */
function orderOf({ sort, externalId }: SignalQuery): string {
  return sort === '-icp_score' && externalId !== undefined ? 's.score + 0 DESC, s.seq DESC' : ORDERS[sort];
}

interface Selection {
  from: string[];
  conditions: string[];
  terms: unknown[];
}

/** Pages of signals: scans that end when the page is full. No OFFSET, no totals. */
export function signalListReads(db: Connection) {
  const resolveProfiles = createProfileResolver(db);

  /** Null if nothing can match. */
  async function selectionOf(tenantId: string, query: SignalQuery): Promise<Selection | null> {
    const profileIds = query.icps.length === 0 ? null : await resolveProfiles(tenantId, query.icps);
    const words = query.q === null ? null : wordsQuery(tenantId, query.q, query.qBegins === true);
    if (profileIds?.length === 0 || (query.q !== null && words === null)) return null;
    return build(tenantId, { query, profileIds, words });
  }

  return {
    async listSignals(tenantId, query) {
      const after = positionOf(query);
      const selection = await selectionOf(tenantId, query);
      if (selection === null) return toPage([], query.limit);
      if (after !== null) addPosition(selection, query.sort, after);
      const { from, conditions, terms } = selection;
      const found = await ask<SignalListRow>(
        db,
        `SELECT s.seq::text AS seq, s.wire, ${query.explain ? 's.explanation' : 'NULL'} AS explanation
         FROM ${from.join(' ')} WHERE ${conditions.join(' AND ')} ORDER BY ${orderOf(query)} LIMIT ?`,
        [...terms, query.limit + 1],
      );
      return toPage(found, query.limit);
    },
    async countSignals(tenantId, query, most) {
      const selection = await selectionOf(tenantId, query);
      if (selection === null) return 0;
      const { from, conditions, terms } = selection;
      const [found] = await ask<{ count: number }>(
        db,
        `SELECT count(*) AS count
         FROM (SELECT 1 FROM ${from.join(' ')} WHERE ${conditions.join(' AND ')} LIMIT ?) counted`,
        [...terms, most],
      );
      return found?.count ?? 0;
    },
  } satisfies Partial<SignalStore>;
}

interface ResolvedQuery {
  query: SignalQuery;
  /** The profiles of the query's `icps`; null: it has none. */
  profileIds: string[] | null;
  words: string | null;
}

function build(tenantId: string, { query, profileIds, words }: ResolvedQuery): Selection {
  const selection: Selection = { from: ['signals s'], conditions: [], terms: [] };
  const add = (condition: string, ...terms: unknown[]) => {
    selection.conditions.push(condition);
    addAll(selection.terms, terms);
  };
  const addAny = (column: string, values: readonly string[]) => {
    if (values.length > 0) add(`s.${column} = ANY (?)`, values);
  };
  const { classifications, externalId, minScore, from, to } = query;
  add('s.tenant_id = ?', tenantId);
  if (from !== null) add('s.seq >= ?::bigint', String(firstSeqOf(from)));
  if (to !== null) add('s.seq < ?::bigint', String(firstSeqOf(to)));
  if (minScore !== null) add('s.score >= ?', minScore);
  addAny('platform', query.platforms);
  addAny('profile_id', profileIds ?? []);
  addAny('signal_type', query.signalTypes);
  // All classes are no filter.
  if (new Set(classifications).size < CLASSIFICATIONS.length) addAny('classification', classifications);
  addAny('company_domain', query.companyDomains);
  if (query.companyDomains.length > 0) add("s.company_domain <> ''");
  if (externalId !== undefined) {
    add('s.external_id IS NOT NULL AND shown_id(s.wire) = md5(?::text)', JSON.stringify(externalId));
  }
  if (words !== null) {
    selection.from.push('JOIN signal_search f ON f.seq = s.seq');
    add('f.terms @@ ?::tsquery', words);
  }
  if (query.triage !== undefined) addTriage(selection, query.triage);
  return selection;
}

function addTriage(selection: Selection, { state, assignee, now }: TriageFilter): void {
  const { from, conditions, terms } = selection;
  if (assignee === null && state === 'all') return;
  if (assignee === null && state === 'open') {
    conditions.push(
      `NOT EXISTS (SELECT 1 FROM signal_triage x WHERE x.seq = s.seq AND (x.is_done OR x.snoozed_until > ?))`,
    );
    terms.push(now);
    return;
  }
  from.push('JOIN signal_triage x ON x.seq = s.seq');
  conditions.push('x.tenant_id = s.tenant_id', STATES[state]);
  if (STATES[state].includes('?')) terms.push(now);
  if (assignee === null) return;
  conditions.push("x.assignee = ? AND x.assignee <> ''");
  terms.push(assignee);
}

function addPosition({ conditions, terms }: Selection, sort: SignalQuery['sort'], after: bigint): void {
  if (sort === '-icp_score') {
    conditions.push('(s.score, s.seq) < (?, ?::bigint)');
    terms.push(Number(after & SCORE_MASK), String(after));
    return;
  }
  conditions.push(`s.seq ${sort === 'timestamp' ? '>' : '<'} ?::bigint`);
  terms.push(String(after));
}

/** One row more than a page holds shows that there is another page; it is dropped. */
function toPage(found: readonly SignalListRow[], limit: number): SignalPage {
  const page = found.slice(0, limit);
  const json = page.map(({ wire, explanation }) =>
    Buffer.from(explanation === null ? wire : `${wire.slice(0, -1)},"explanation":${explanation}}`),
  );
  const last = found.length > limit ? page.at(-1) : undefined;
  return {
    json: Buffer.concat(commaSeparated(json)),
    last: last === undefined ? null : lastOf(BigInt(last.seq)),
  };
}

/** As two numbers, because one does not have enough bits. */
function lastOf(seq: bigint): [timestamp: number, place: number] {
  return [Number(seq >> TIME_SHIFT), Number(seq & PLACE_MASK)];
}

function firstSeqOf(timestamp: number): bigint {
  return BigInt(Math.min(Math.max(timestamp, 0), MAX_TIME)) << TIME_SHIFT;
}

function positionOf({ after }: SignalQuery): bigint | null {
  if (after === null) return null;
  const [timestamp, place] = after;
  if (typeof timestamp === 'number' && typeof place === 'number') {
    return (BigInt(timestamp) << TIME_SHIFT) + BigInt(place);
  }
  throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another order.');
}
