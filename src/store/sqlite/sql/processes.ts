import type { Database } from 'better-sqlite3';
import type { ProcessStatements } from '../../changes/processes.ts';
import { rows, run, value, values } from './prepared.ts';

export function presenceSql(db: Database): ProcessStatements['presence'] {
  const isHeard = value<[string, number, number], number>(
    db,
    'SELECT 1 FROM processes WHERE name = ? AND seen_at BETWEEN ? AND ?',
  );
  return {
    beat: run(
      db,
      `INSERT INTO processes (name, seen_at) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at`,
    ),
    isHeard: (...terms) => isHeard(...terms) === 1,
    listSilent: values(db, 'SELECT name FROM processes WHERE name <> ? AND seen_at NOT BETWEEN ? AND ?'),
    silence: run(db, 'UPDATE processes SET seen_at = 0 WHERE name = ?'),
    // Dispatcher and poller end theirs separately: a process is forgotten when it has no leases of either.
    forget: run(
      db,
      `DELETE FROM processes WHERE name IN (SELECT value FROM json_each(?))
       AND NOT EXISTS (SELECT 1 FROM lane_leases WHERE process = processes.name)
       AND NOT EXISTS (SELECT 1 FROM sources WHERE lease_process = processes.name AND lease_until > 0)`,
    ),
  };
}

export function processesSql(db: Database): ProcessStatements['processes'] {
  return {
    endLanes: run(db, 'DELETE FROM lane_leases WHERE process IN (SELECT value FROM json_each(?))'),
    endSources: values(
      db,
      `UPDATE sources SET lease_token = NULL, lease_until = 0
       WHERE lease_until > 0 AND lease_process IN (SELECT value FROM json_each(?)) RETURNING id`,
    ),
    // Leases without a process were kept by an earlier version when it was stopped.
    selectBroken: rows(
      db,
      `SELECT id, tenant_id AS tenantId, name, broken_off AS brokenOff FROM sources
     WHERE lease_until > 0 AND lease_process <> '' AND lease_process IN (SELECT value FROM json_each(?))
     ORDER BY next_poll_at, id`,
    ),
    breakOff: run(
      db,
      `UPDATE sources SET
       broken_off = broken_off + 1,
       last_error = :error,
       failures = failures + 1,
       failing_since = ifnull(failing_since, :now),
       next_poll_at = max(next_poll_at, :notBefore),
       status = iif(:isPaused, 'paused', status),
       version = version + :isPaused,
       updated_at = iif(:isPaused, :now, updated_at)
     WHERE id = :id`,
    ),
    writeProbe: run(db, 'UPDATE probe SET at = ? WHERE id = 1'),
  };
}
