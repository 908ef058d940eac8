import type { Database } from 'better-sqlite3';
import type { Job } from '../../../model/job.ts';
import type { JobStore } from '../../request-store.ts';
import { type Part, Table } from '../table.ts';

export const JOBS = new Table<Job>('jobs', {
  ...{ id: 'plain', tenantId: 'plain', kind: 'plain', status: 'plain', total: 'plain', processed: 'plain' },
  ...{ createdAt: 'plain', finishedAt: 'plain', error: 'json', results: 'json' },
});

export function jobReads(db: Database) {
  const selectOne = JOBS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectOpen = JOBS.select<[number]>(
    db,
    `WHERE id IN (
       SELECT id FROM (SELECT id, min(created_at) AS since FROM jobs WHERE finished_at IS NULL GROUP BY tenant_id)
       ORDER BY since LIMIT ?)
     ORDER BY created_at, id`,
  );
  const selectItems = db.prepare<[string], string | null>('SELECT items FROM jobs WHERE id = ?').pluck();

  return {
    getJob: (tenantId, id) => selectOne.get(id, tenantId),
    listOpenJobs: (limit) => selectOpen.all(limit),
    readJobItems: (id) => selectItems.get(id) ?? null,
  } satisfies Part<JobStore>;
}
