import type { Database } from 'better-sqlite3';
import type { JobStatements, RequestStatements } from '../../changes/requests.ts';
import { JOBS } from '../reads/signals.ts';
import { changed, count, row, run, untilFreed, value } from './prepared.ts';

export function requestsSql(db: Database): RequestStatements['requests'] {
  const held =
    'tenant_id = :tenantId AND route = :route AND key = :key AND token = :token AND status IS NULL';
  return {
    selectKey: row(
      db,
      `SELECT fingerprint, token, process, seed, started_at, steps, expires_at, status, location
     FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?`,
    ),
    insertKey: run(
      db,
      `INSERT OR REPLACE INTO idempotency_keys
       (tenant_id, route, key, fingerprint, token, process, seed, started_at, expires_at)
     VALUES (:tenantId, :route, :key, :fingerprint, :token, :process, :token, :now, :expiresAt)`,
    ),
    takeOver: run(
      db,
      `UPDATE idempotency_keys SET token = :token, process = :process
     WHERE tenant_id = :tenantId AND route = :route AND key = :key`,
    ),
    answer: changed(
      db,
      `UPDATE idempotency_keys SET status = :status, location = :location, body = CAST(:body AS TEXT), steps = ''
     WHERE tenant_id = :tenantId AND route = :route AND key = :key AND token = :token`,
    ),
    removeUnused: changed(db, `DELETE FROM idempotency_keys WHERE ${held} AND steps = ''`),
    releaseKey: run(db, `UPDATE idempotency_keys SET process = '' WHERE ${held}`),
    sweep: run(
      db,
      `DELETE FROM idempotency_keys WHERE rowid IN (
       ${untilFreed(`SELECT rowid AS id, expires_at AS place, octet_length(ifnull(body, '')) + octet_length(steps) AS bytes
         FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`)})`,
    ),
    holderOf: value(db, 'SELECT token FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?'),
    addStep: run(
      db,
      `UPDATE idempotency_keys SET steps = steps || ? || char(10) WHERE tenant_id = ? AND route = ? AND key = ?`,
    ),
    insertAudit: run(
      db,
      `INSERT INTO audit (tenant_id, at, actor, action, subject, count, gathered, client)
     VALUES (:tenantId, :at, :actor, :action, :subject, :count, :gathered, :client)
     ON CONFLICT (tenant_id, actor, action, gathered) WHERE gathered IS NOT NULL
       DO UPDATE SET count = count + excluded.count`,
    ),
    // Positions follow time, except for clocks that were set back: the lowest ones are the oldest.
    pruneAudit: count(
      db,
      `DELETE FROM audit WHERE position IN
       (SELECT position FROM (SELECT position, at FROM audit ORDER BY position LIMIT ?) WHERE at < ?)`,
    ),
  };
}

export function jobsSql(db: Database): JobStatements['jobs'] {
  return {
    countOpen: value(db, 'SELECT count(*) FROM jobs WHERE tenant_id = ? AND finished_at IS NULL'),
    advance: changed(
      db,
      `UPDATE jobs SET status = :status, processed = processed + CAST(:count AS INTEGER)
       WHERE id = :id AND processed = :processed AND finished_at IS NULL`,
    ),
    insertResults: run(db, 'INSERT INTO job_results (job_id, processed, results) VALUES (?, ?, ?)'),
    finish: run(db, 'UPDATE jobs SET finished_at = ?, error = ? WHERE id = ?'),
    prune: count(
      db,
      `DELETE FROM jobs WHERE id IN (
       ${untilFreed(`SELECT id, created_at AS place, octet_length(results)
           + (SELECT total(octet_length(r.results)) FROM job_results r WHERE r.job_id = jobs.id) AS bytes
         FROM jobs WHERE finished_at IS NOT NULL AND created_at < ? ORDER BY created_at LIMIT ?`)})`,
    ),
    insert: JOBS.with<{ results: string }>({ results: 'plain' }).insert(db),
    insertItems: run(db, 'INSERT INTO job_items (job_id, processed, items) VALUES (?, ?, ?)'),
    deleteItems: run(db, 'DELETE FROM job_items WHERE job_id = ? AND processed <= ?'),
  };
}
