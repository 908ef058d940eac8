import type { JobStatements, RequestStatements } from '../../changes/requests.ts';
import type { Connection } from '../connection.ts';
import { JOBS } from '../tables.ts';
import { type Async, changed, count, row, run, value } from './prepared.ts';

export function requestsSql(db: Connection): Async<RequestStatements['requests']> {
  const held =
    'tenant_id = :tenantId AND route = :route AND key = :key AND token = :token AND status IS NULL';
  const answer = changed<[Record<string, unknown>]>(
    db,
    `UPDATE idempotency_keys SET status = :status, location = :location, body = :body, steps = ''
     WHERE tenant_id = :tenantId AND route = :route AND key = :key AND token = :token`,
  );
  return {
    selectKey: row(
      db,
      `SELECT fingerprint, token, process, seed, started_at, steps, expires_at, status, location
       FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?`,
    ),
    // An existing row has expired.
    insertKey: run(
      db,
      `INSERT INTO idempotency_keys
         (tenant_id, route, key, fingerprint, token, process, seed, started_at, expires_at)
       VALUES (:tenantId, :route, :key, :fingerprint, :token, :process, :token, :now, :expiresAt)
       ON CONFLICT (tenant_id, route, key) DO UPDATE SET
         fingerprint = excluded.fingerprint, token = excluded.token, process = excluded.process, seed = excluded.seed,
         started_at = excluded.started_at, expires_at = excluded.expires_at, status = NULL, location = NULL,
         body = NULL, steps = ''`,
    ),
    takeOver: run(
      db,
      `UPDATE idempotency_keys SET token = :token, process = :process
       WHERE tenant_id = :tenantId AND route = :route AND key = :key`,
    ),
    answer: ({ body, ...row }) =>
      answer({ ...row, body: typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString() }),
    removeUnused: changed(db, `DELETE FROM idempotency_keys WHERE ${held} AND steps = ''`),
    releaseKey: run(db, `UPDATE idempotency_keys SET process = '' WHERE ${held}`),
    sweep: run(
      db,
      `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM idempotency_keys WHERE expires_at <= ?
         ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED))`,
    ),
    holderOf: value(db, 'SELECT token FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?'),
    addStep: run(
      db,
      `UPDATE idempotency_keys SET steps = steps || ?::text || chr(10) WHERE tenant_id = ? AND route = ? AND key = ?`,
    ),
    insertAudit: run(
      db,
      `INSERT INTO audit (tenant_id, at, actor, action, subject, count, gathered, client)
       VALUES (:tenantId, :at, :actor, :action, :subject, :count, :gathered, :client)
       ON CONFLICT (tenant_id, actor, action, gathered) WHERE gathered IS NOT NULL
         DO UPDATE SET count = audit.count + excluded.count`,
    ),
    // Positions follow time, except for clocks that were set back: the lowest ones are the oldest.
    pruneAudit: count(
      db,
      `DELETE FROM audit WHERE position IN
         (SELECT position FROM (SELECT position, at FROM audit ORDER BY position LIMIT ?) oldest WHERE at < ?)`,
    ),
  };
}

export function jobsSql(db: Connection): Async<JobStatements['jobs']> {
  return {
    countOpen: value(db, 'SELECT count(*) FROM jobs WHERE tenant_id = ? AND finished_at IS NULL'),
    advance: changed(
      db,
      `UPDATE jobs SET status = :status, processed = processed + :count::bigint
       WHERE id = :id AND processed = :processed::bigint AND finished_at IS NULL`,
    ),
    insertResults: run(db, 'INSERT INTO job_results (job_id, processed, results) VALUES (?, ?, ?)'),
    finish: run(db, 'UPDATE jobs SET finished_at = ?, error = ? WHERE id = ?'),
    prune: count(
      db,
      `DELETE FROM jobs WHERE id = ANY (ARRAY(
         SELECT id FROM jobs WHERE finished_at IS NOT NULL AND created_at < ? ORDER BY created_at LIMIT ?))`,
    ),
    insert: JOBS.with<{ results: string }>({ results: 'plain' }).insert(db),
    insertItems: run(db, 'INSERT INTO job_items (job_id, processed, items) VALUES (?, ?, ?)'),
    deleteItems: run(db, 'DELETE FROM job_items WHERE job_id = ? AND processed <= ?'),
  };
}
