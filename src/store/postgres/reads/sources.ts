import { NO_SETTINGS } from '../../../model/constants.ts';
import type { EndedRun, Source } from '../../../model/source.ts';
import { type CreationPage, creationPage, pageByCreation, pageOf } from '../../pages.ts';
import { BEFORE_ALL_DUE, type DueSource, type HostHold, type SourceStore } from '../../source-store.ts';
import type { Connection } from '../connection.ts';
import { rows, value } from '../sql/prepared.ts';
import { SOURCES, Table } from '../tables.ts';

/** A row as returned: older rows lack settings that were added to their kind later. */
export function wholeSource<S extends Source>(source: S): S {
  return { ...source, settings: { ...NO_SETTINGS, ...source.settings } };
}

const RUNS = new Table<EndedRun & { seq: number }>('source_runs', {
  ...{ seq: 'plain', id: 'plain', startedAt: 'plain', endedAt: 'plain', error: 'json' },
  ...{ itemsSeen: 'plain', itemsMatched: 'plain', signalsMade: 'plain' },
});

/** Sources, and when the next one is due. */
export function sourceReads(db: Connection) {
  const selectOne = SOURCES.select<[string, string]>(
    db,
    "WHERE id = ? AND tenant_id = ? AND status <> 'deleted'",
  );
  const selectPage = SOURCES.select<[{ tenantId: string } & CreationPage]>(
    db,
    `WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) AND status <> 'deleted'
     ORDER BY created_at, id LIMIT :limit`,
  );
  const selectRuns = RUNS.select<[string, number, number]>(
    db,
    'WHERE source_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
  );
  const count = value<[string], number>(
    db,
    "SELECT count(*) FROM sources WHERE tenant_id = ? AND status <> 'deleted'",
  );
  const selectNext = value<[number], number | null>(db, 'SELECT min(due_at) FROM sources WHERE due_at > ?');
  const selectDue = rows<[DueSource & { now: number; limit: number }], DueSource>(
    db,
    `SELECT id, tenant_id AS "tenantId", host, due_at AS "dueAt" FROM sources
     WHERE due_at <= :now AND (due_at, tenant_id, host, id) > (:dueAt::bigint, :tenantId, :host, :id)
     ORDER BY due_at, tenant_id, host, id LIMIT :limit`,
  );

  return {
    async pageSourceRuns(sourceId, { limit, after }) {
      const found = await selectRuns.all(sourceId, Number(after?.[0] ?? Number.MAX_SAFE_INTEGER), limit + 1);
      return pageOf(found, limit, {
        toRow: ({ seq: _, ...run }): EndedRun => run,
        position: ({ seq }) => [seq],
      });
    },
    hostHolds: rows<[number], HostHold>(
      db,
      'SELECT host, scope, until FROM host_holds WHERE until > ? ORDER BY until DESC LIMIT 10000',
    ),
    async getSource(tenantId, id) {
      const found = await selectOne.get(id, tenantId);
      return found === null ? null : wholeSource(found);
    },
    countSources: async (tenantId) => (await count(tenantId)) ?? 0,
    async pageSources(tenantId, page) {
      const found = await selectPage.all({ tenantId, ...creationPage(page) });
      return pageByCreation(page, found.map(wholeSource));
    },
    pageDueSources: (now, after, limit) => selectDue({ ...(after ?? BEFORE_ALL_DUE), now, limit }),
    nextSourceDue: async (after) => (await selectNext(after)) ?? null,
  } satisfies Partial<SourceStore>;
}
