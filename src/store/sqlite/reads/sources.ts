import type { Database } from 'better-sqlite3';
import { NO_SETTINGS } from '../../../model/constants.ts';
import type { EndedRun, Source, SourcePosition } from '../../../model/source.ts';
import { type CreationPage, creationPage, pageByCreation, pageOf } from '../../pages.ts';
import { BEFORE_ALL_DUE, type DueSource, type HostHold, type SourceStore } from '../../source-store.ts';
import { type Part, Table } from '../table.ts';

const SOURCES = new Table<Source>('sources', {
  id: 'plain',
  tenantId: 'plain',
  kind: 'plain',
  name: 'plain',
  settings: 'json',
  secrets: 'json',
  profileIds: 'json',
  intervalSeconds: 'plain',
  maxAgeDays: 'plain',
  status: 'plain',
  nextPollAt: 'plain',
  lastRunAt: 'plain',
  lastSuccessAt: 'plain',
  lastError: 'json',
  failures: 'plain',
  failingSince: 'plain',
  quota: 'json',
  itemsSeen: 'plain',
  itemsMatched: 'plain',
  itemsRelevant: 'plain',
  signalsMade: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
  version: 'plain',
});

/** With the position at which reading continues. */
export const READ_SOURCES = SOURCES.with<{ position: SourcePosition }>({ position: 'json' });

/** A row as returned: older rows lack settings that were added to their kind later. */
export function wholeSource<S extends Source>(source: S): S {
  return { ...source, settings: { ...NO_SETTINGS, ...source.settings } };
}

const RUNS = new Table<EndedRun & { seq: number }>('source_runs', {
  seq: 'plain',
  id: 'plain',
  startedAt: 'plain',
  endedAt: 'plain',
  error: 'json',
  itemsSeen: 'plain',
  itemsMatched: 'plain',
  signalsMade: 'plain',
});

/** Sources, and when the next one is due. */
export function sourceReads(db: Database) {
  const selectOne = SOURCES.select<[string, string]>(
    db,
    "WHERE id = ? AND tenant_id = ? AND status <> 'deleted'",
  );
  const selectPage = SOURCES.rows<[{ tenantId: string } & CreationPage]>(db, SOURCE_PAGE_SQL);
  const count = db
    .prepare<[string], number>("SELECT count(*) FROM sources WHERE tenant_id = ? AND status <> 'deleted'")
    .pluck();
  const selectNext = db.prepare<[number], number | null>(NEXT_SOURCE_SQL).pluck();
  const selectDue = db.prepare<[DueSource & { now: number; limit: number }], DueSource>(DUE_SOURCES_SQL);

  const selectRuns = RUNS.select<[string, number, number]>(
    db,
    'WHERE source_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
  );
  const selectHolds = db.prepare<[number], HostHold>(
    'SELECT host, scope, until FROM host_holds WHERE until > ? ORDER BY until DESC LIMIT 10000',
  );

  return {
    pageSourceRuns(sourceId, { limit, after }) {
      const found = selectRuns.all(sourceId, Number(after?.[0] ?? Number.MAX_SAFE_INTEGER), limit + 1);
      return pageOf(found, limit, {
        toRow: ({ seq: _, ...run }): EndedRun => run,
        position: ({ seq }) => [seq],
      });
    },
    hostHolds: (now) => selectHolds.all(now),
    getSource(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === null ? null : wholeSource(row);
    },
    countSources: (tenantId) => count.get(tenantId) ?? 0,
    pageSources: (tenantId, page) =>
      pageByCreation(page, selectPage.all({ tenantId, ...creationPage(page) }).map(wholeSource)),
    pageDueSources: (now, after, limit) => selectDue.all({ ...(after ?? BEFORE_ALL_DUE), now, limit }),
    nextSourceDue: (after) => selectNext.get(after) ?? null,
  } satisfies Part<SourceStore>;
}

/** A page in order of creation. */
export const SOURCE_PAGE_SQL = `SELECT ${SOURCES.list} FROM sources
  WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) AND status <> 'deleted'
  ORDER BY created_at, id LIMIT :limit`;

/** Due sources, longest due first, after one of them. */
export const DUE_SOURCES_SQL = `SELECT id, tenant_id AS tenantId, host, due_at AS dueAt FROM sources
  WHERE due_at IS NOT NULL AND due_at <= :now AND (due_at, tenant_id, host, id) > (:dueAt, :tenantId, :host, :id)
  ORDER BY due_at, tenant_id, host, id LIMIT :limit`;

/** When the next source is due. */
export const NEXT_SOURCE_SQL = 'SELECT min(due_at) FROM sources WHERE due_at IS NOT NULL AND due_at > ?';
