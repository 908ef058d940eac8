import type { JobStore } from '../../request-store.ts';
import type { Connection } from '../connection.ts';
import { value } from '../sql/prepared.ts';
import { JOBS } from '../tables.ts';

export function jobReads(db: Connection) {
  const selectOne = JOBS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  // Of each tenant the oldest.
  const selectOpen = JOBS.select<[number]>(
    db,
    `WHERE id IN (
       SELECT id FROM (SELECT DISTINCT ON (tenant_id) id, created_at FROM jobs WHERE finished_at IS NULL
                       ORDER BY tenant_id, created_at, id) oldest
       ORDER BY created_at LIMIT ?)
     ORDER BY created_at, id`,
  );
  const selectItems = value<[string], string | null>(db, 'SELECT items FROM jobs WHERE id = ?');

  return {
    getJob: (tenantId, id) => selectOne.get(id, tenantId),
    listOpenJobs: selectOpen.all,
    readJobItems: async (id) => (await selectItems(id)) ?? null,
  } satisfies Partial<JobStore>;
}
