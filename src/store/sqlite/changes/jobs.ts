import type { Database } from 'better-sqlite3';
import type { Job } from '../../../model/job.ts';
import type { JobStore } from '../../job-store.ts';
import type { Part } from '../../store.ts';
import { JOBS } from '../reads/jobs.ts';

export function jobChanges(db: Database) {
  const countOpen = db
    .prepare<[string], number>('SELECT count(*) FROM jobs WHERE tenant_id = ? AND finished_at IS NULL')
    .pluck();
  const insert = JOBS.with<{ items: string }>({ items: 'plain' }).insert(db);
  const selectResults = db
    .prepare<[string, number], string>(
      'SELECT results FROM jobs WHERE id = ? AND processed = ? AND finished_at IS NULL',
    )
    .pluck();
  const advance = db.prepare<[string, number, string, string]>(
    'UPDATE jobs SET status = ?, processed = ?, results = ? WHERE id = ?',
  );
  const finish = db.prepare<[number, string | null, string]>(
    'UPDATE jobs SET finished_at = ?, error = ?, items = NULL WHERE id = ?',
  );
  const prune = db.prepare<[number, number]>(
    `DELETE FROM jobs WHERE id IN (
       SELECT id FROM jobs WHERE finished_at IS NOT NULL AND created_at < ? ORDER BY created_at LIMIT ?)`,
  );

  return {
    createJob(job, items, mostOpen) {
      if ((countOpen.get(job.tenantId) ?? 0) >= mostOpen) return false;
      insert({ ...job, items });
      return true;
    },
    advanceJob({ id, processed, results, end }) {
      const before = selectResults.get(id, processed);
      if (before === undefined) return false;
      const all = [...(JSON.parse(before) as Job['results']), ...results];
      advance.run(end?.status ?? 'running', all.length, JSON.stringify(all), id);
      if (end !== null) finish.run(end.at, end.error === null ? null : JSON.stringify(end.error), id);
      return true;
    },
    pruneJobs: (before, limit) => prune.run(before, limit).changes,
  } satisfies Part<JobStore>;
}
