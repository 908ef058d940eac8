import type { Database } from 'better-sqlite3';
import type { SourceStatements } from '../../changes/sources.ts';
import { READ_SOURCES, wholeSource } from '../reads/sources.ts';
import { changed, count, encoding, run, value } from './prepared.ts';

const STORED = READ_SOURCES.with<{ nameKey: string }>({ nameKey: 'plain' });
/** The number of runs kept per source. */
const KEPT_RUNS = 100;

export function sourcesSql(db: Database): SourceStatements['sources'] {
  const byId = READ_SOURCES.select<[string]>(db, 'WHERE id = ?');
  const wholeById = (id: string) => {
    const source = byId.get(id);
    return source === null ? null : wholeSource(source);
  };
  return {
    update: encoding(
      STORED,
      changed(
        db,
        `UPDATE sources SET
       name = :name, name_key = :nameKey, settings = :settings, secrets = :secrets, profile_ids = :profileIds,
       interval_seconds = :intervalSeconds, max_age_days = :maxAgeDays, status = :status, next_poll_at = max(:nextPollAt, not_before),
       updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :version - 1 AND status <> 'deleted'`,
      ),
    ),
    restart: encoding(
      STORED,
      run(
        db,
        `UPDATE sources SET
       position = :position, failures = 0, last_error = NULL, failing_since = NULL, quota = NULL, not_before = 0, next_poll_at = :nextPollAt,
       lease_token = NULL, lease_until = 0
     WHERE id = :id`,
      ),
    ),
    // A name does not begin with a blank. The row stays for the links to its signals, of which there may be millions.
    retire: changed(
      db,
      `UPDATE sources SET
         status = 'deleted', name = '', name_key = ' ' || id, settings = '{}', secrets = '{}', profile_ids = '[]', position = '{}',
         last_error = NULL, quota = NULL, lease_token = NULL, lease_until = 0, lease_process = ''
       WHERE id = :id AND tenant_id = :tenantId AND version = ifnull(:version, version) AND status <> 'deleted'`,
    ),
    selectRetired: value(db, "SELECT id FROM sources WHERE status = 'deleted' LIMIT 1"),
    unlinkSignals: count(
      db,
      `DELETE FROM source_signals
       WHERE signal_id IN (SELECT signal_id FROM source_signals WHERE source_id = ? LIMIT ?)`,
    ),
    remove: run(db, 'DELETE FROM sources WHERE id = ?'),
    selectNamed: value(db, 'SELECT id FROM sources WHERE tenant_id = ? AND name_key = ?'),
    count: value(db, "SELECT count(*) FROM sources WHERE tenant_id = ? AND status <> 'deleted'"),
    askRun: changed(
      db,
      `UPDATE sources SET next_poll_at = max(:now, not_before)
     WHERE id = :id AND tenant_id = :tenantId AND status = 'active'`,
    ),
    insert: STORED.insert(db),
    lease: changed(
      db,
      `UPDATE sources SET lease_token = :token, lease_until = :leaseUntil, lease_process = :process WHERE id = :id AND due_at <= :now`,
    ),
    putOff: run(
      db,
      `UPDATE sources SET
       lease_token = NULL, lease_until = 0,
       next_poll_at = CASE WHEN next_poll_at = :claimedPollAt THEN max(:until, next_poll_at) ELSE next_poll_at END
     WHERE id = :sourceId AND lease_token = :token`,
    ),
    countSignals: run(db, 'UPDATE sources SET signals_made = signals_made + ? WHERE id = ?'),
    selectHeld: value(db, 'SELECT 1 FROM sources WHERE id = ? AND lease_token = ?'),
    finishRun: run(
      db,
      `UPDATE sources SET
       lease_token = NULL, lease_until = 0,
       broken_off = 0,
       last_run_at = :now,
       last_success_at = CASE WHEN :error IS NULL THEN :now ELSE last_success_at END,
       last_error = :error,
       failures = CASE WHEN :error IS NULL THEN 0 ELSE failures + 1 END,
       failing_since = CASE WHEN :error IS NULL THEN NULL ELSE ifnull(failing_since, :now) END,
       quota = coalesce(:quota, quota),
       next_poll_at = max(CASE WHEN next_poll_at = :claimedPollAt THEN :nextPollAt ELSE next_poll_at END, :notBefore),
       not_before = :notBefore,
       position = coalesce(:position, position),
       items_seen = items_seen + :itemsSeen,
       items_matched = items_matched + :itemsMatched,
       signals_made = signals_made + :signalsMade
     WHERE id = :sourceId AND lease_token = :token`,
    ),
    // The minimum that the clock was ahead: times planned with it may be late by as much.
    replan: count(
      db,
      `UPDATE sources SET
       next_poll_at = max(:now, not_before - (ifnull(last_run_at, created_at) - :now)),
       not_before = max(0, not_before - (ifnull(last_run_at, created_at) - :now)),
       last_run_at = CASE WHEN last_run_at IS NOT NULL THEN :now END,
       last_success_at = min(last_success_at, :now),
       failing_since = min(failing_since, :now)
     WHERE ifnull(last_run_at, created_at) > :now AND next_poll_at > :now AND lease_until = 0`,
    ),
    insertRun: run(
      db,
      `INSERT INTO source_runs
       (id, source_id, started_at, ended_at, error, items_seen, items_matched, signals_made)
     VALUES (:token || '_' || :sourceId, :sourceId, :startedAt, :now, :error, :itemsSeen, :itemsMatched, :signalsMade)`,
    ),
    pruneRuns: run(
      db,
      `DELETE FROM source_runs WHERE source_id = :sourceId AND seq <=
       (SELECT seq FROM source_runs WHERE source_id = :sourceId ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_RUNS})`,
    ),
    linkSignal: run(
      db,
      'INSERT INTO source_signals (signal_id, source_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
    ),
    holdHost: run(
      db,
      `INSERT INTO host_holds (host, scope, until) VALUES (:host, :scope, :until)
     ON CONFLICT (host, scope) DO UPDATE SET until = max(until, excluded.until)`,
    ),
    pruneHolds: count(
      db,
      'DELETE FROM host_holds WHERE (host, scope) IN (SELECT host, scope FROM host_holds WHERE until <= ? LIMIT ?)',
    ),
    selectById: wholeById,
  };
}
