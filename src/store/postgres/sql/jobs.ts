import type { JobStatements } from '../../changes/jobs.ts';
import type { Connection } from '../connection.ts';
import { JOBS } from '../tables.ts';
import { count, type Later, run, value } from './prepared.ts';

export function jobsSql(db: Connection): Later<JobStatements['jobs']> {
  return {
    countOpen: value(db, 'SELECT count(*) FROM jobs WHERE tenant_id = ? AND finished_at IS NULL'),
    selectResults: value(
      db,
      'SELECT results::text FROM jobs WHERE id = ? AND processed = ? AND finished_at IS NULL FOR UPDATE',
    ),
    advance: run(db, 'UPDATE jobs SET status = ?, processed = ?, results = ? WHERE id = ?'),
    finish: run(db, 'UPDATE jobs SET finished_at = ?, error = ?, items = NULL WHERE id = ?'),
    prune: count(
      db,
      `DELETE FROM jobs WHERE id IN (
         SELECT id FROM jobs WHERE finished_at IS NOT NULL AND created_at < ? ORDER BY created_at LIMIT ?)`,
    ),
    insert: JOBS.with<{ items: string }>({ items: 'plain' }).insert(db),
  };
}
