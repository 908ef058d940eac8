import type { Database, Statement } from 'better-sqlite3';
import type { StoredSignalPage, StoredSignalQuery } from '../../signal-store.ts';
import { EXPLAINED } from './signal-list-sql.ts';
import { matchOf } from './signal-match.ts';
import { createStoredOrder } from './stored-order.ts';

/**
 * Rows that one page looks at for those that fit its filters: 3 us each by their columns, 15 us by words. Where none fits,
 * the page is empty and the cursor behind them.
 */
const MAX_LOOKED_AT = { columns: 2_000, words: 500 };

type PageRow = [count: number, last: number | null, json: Buffer | null];
type Values = Record<string, unknown>;

/** Pages of signals in the order by commit. */
export function createStoredSignals(db: Database) {
  const order = createStoredOrder(db, 'signals');
  const statements = new Map<boolean, Statement<Values[], PageRow>>();

  function statement(explain: boolean): Statement<Values[], PageRow> {
    const known = statements.get(explain);
    if (known !== undefined) return known;
    const made = db.prepare<Values[], PageRow>(storedSignalsSql(explain)).raw();
    statements.set(explain, made);
    return made;
  }

  /** `profileIds` are what the query's `icps` came to; null: it named none. */
  return function list(
    tenantId: string,
    profileIds: string[] | null,
    query: StoredSignalQuery,
  ): StoredSignalPage {
    const words = matchOf(tenantId, null, wordsAlone(query), () => []);
    // What fits nothing now fits none of the rows that are there: all of them are passed by.
    if (words === 'nothing' || profileIds?.length === 0) {
      const { after } = order.stretch(tenantId, query, 1);
      const { next, hasMore } = order.end(
        tenantId,
        { after, until: null },
        Math.max(after, order.newest(tenantId)),
      );
      return { count: 0, json: Buffer.alloc(0), next: [next], hasMore };
    }
    const stretch = order.stretch(tenantId, query, scanOf(query, words));
    const { after, until } = stretch;
    const values = { tenantId, after, until: until ?? after, words, ...columnsOf(profileIds, query) };
    const [count = 0, last = null, json = null] = statement(query.explain).get(values) ?? [];
    const isFull = count === query.limit;
    const { next, hasMore } = order.end(tenantId, stretch, isFull ? last : null);
    return { count, json: json ?? Buffer.alloc(0), next: [next], hasMore };
  };
}

/** The rows of a stretch that fit, in order, as one row: how many, the place of the last, and their JSON with commas between. */
export function storedSignalsSql(explain: boolean): string {
  return `SELECT count(*), max(position), CAST(group_concat(json, ',') AS BLOB) FROM (
    SELECT p.position AS position, ${explain ? EXPLAINED : 's.wire'} AS json
    FROM signal_positions p CROSS JOIN signals s ON s.seq = p.seq AND s.tenant_id = +:tenantId
    WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until
      AND (:platforms IS NULL OR s.platform IN (SELECT value FROM json_each(:platforms)))
      AND (:profileIds IS NULL OR s.profile_id IN (SELECT value FROM json_each(:profileIds)))
      AND (:signalTypes IS NULL OR s.signal_type IN (SELECT value FROM json_each(:signalTypes)))
      AND (:classifications IS NULL OR s.classification IN (SELECT value FROM json_each(:classifications)))
      AND (:companyDomains IS NULL OR s.company_domain IN (SELECT value FROM json_each(:companyDomains)))
      AND (:externalId IS NULL OR json_extract(s.wire, '$.external_id') = :externalId)
      AND s.score >= :minScore AND s.timestamp >= :from AND s.timestamp < :to
      AND (:words IS NULL OR EXISTS
        (SELECT 1 FROM signal_search WHERE signal_search MATCH :words AND signal_search.rowid = s.seq))
    ORDER BY p.position LIMIT +:limit)`;
}

function columnsOf(profileIds: string[] | null, query: StoredSignalQuery): Values {
  const { platforms, signalTypes, classifications, companyDomains, externalId, minScore, from, to, limit } =
    query;
  return {
    externalId: externalId ?? null,
    platforms: anyOf(platforms),
    profileIds: anyOf(profileIds ?? []),
    signalTypes: anyOf(signalTypes),
    classifications: anyOf(classifications),
    companyDomains: anyOf(companyDomains),
    minScore: minScore ?? 0,
    from: from ?? 0,
    to: to ?? Number.MAX_SAFE_INTEGER,
    limit,
  };
}

function anyOf(values: readonly string[]): string | null {
  return values.length === 0 ? null : JSON.stringify(values);
}

function scanOf(query: StoredSignalQuery, words: string | null): number {
  if (words !== null) return MAX_LOOKED_AT.words;
  const { platforms, icps, signalTypes, classifications, companyDomains } = query;
  const { externalId, minScore, from, to } = query;
  const lists = [platforms, icps, signalTypes, classifications, companyDomains];
  const isFiltered =
    lists.some(({ length }) => length > 0) || (externalId ?? minScore ?? from ?? to ?? null) !== null;
  return isFiltered ? MAX_LOOKED_AT.columns : query.limit;
}

/** The query with its words as its only filter: the others are looked up in the row's columns. */
function wordsAlone({ q }: StoredSignalQuery) {
  const none = { platforms: [], icps: [], signalTypes: [], classifications: [], companyDomains: [] };
  return { ...none, q, minScore: null, sort: 'timestamp' } as const;
}
