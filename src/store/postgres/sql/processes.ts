import { heardWithin, type ProcessStatements } from '../../changes/processes.ts';
import type { Connection } from '../connection.ts';
import { type Async, rows, run, value, values } from './prepared.ts';

export function presenceSql(db: Connection): Async<ProcessStatements['presence']> {
  const heard = values<[string, number, number], number>(
    db,
    'SELECT 1 FROM processes WHERE name = ? AND seen_at BETWEEN ? AND ?',
  );
  // Dispatcher and poller end theirs separately: a process is forgotten when it has no leases of either.
  const forget = run<[string[]]>(
    db,
    `DELETE FROM processes WHERE name = ANY (?)
     AND NOT EXISTS (SELECT 1 FROM lane_leases WHERE process = processes.name)
     AND NOT EXISTS (SELECT 1 FROM sources WHERE lease_process = processes.name AND lease_until > 0)`,
  );
  return {
    beat: run(
      db,
      `INSERT INTO processes (name, seen_at) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at`,
    ),
    isHeard: async (...terms) => (await heard(...terms)).length > 0,
    // FOR UPDATE: a concurrent heartbeat waits, and its row is not deleted in the meantime.
    listSilent: values(
      db,
      'SELECT name FROM processes WHERE name <> ? AND seen_at NOT BETWEEN ? AND ? ORDER BY name FOR UPDATE',
    ),
    silence: run(db, 'UPDATE processes SET seen_at = 0 WHERE name = ?'),
    forget: (names) => forget(JSON.parse(names)),
  };
}

export function processesSql(db: Connection): Async<ProcessStatements['processes']> {
  // The row stays, so that the node that takes over the endpoint can read what was held.
  const endLanes = run<[string[]]>(
    db,
    "UPDATE lane_leases SET until = 0, process = '' WHERE process = ANY (?)",
  );
  const endSources = values<[string[]], string>(
    db,
    `UPDATE sources SET lease_token = NULL, lease_until = 0
     WHERE lease_until > 0 AND lease_process = ANY (?) RETURNING id`,
  );
  type Broken = { id: string; tenantId: string; name: string; brokenOff: number };
  const selectBroken = rows<[string[]], Broken>(
    db,
    `SELECT id, tenant_id AS "tenantId", name, broken_off AS "brokenOff" FROM sources
     WHERE lease_until > 0 AND lease_process <> '' AND lease_process = ANY (?) ORDER BY next_poll_at, id FOR UPDATE`,
  );
  return {
    endLanes: (names) => endLanes(JSON.parse(names)),
    endSources: (names) => endSources(JSON.parse(names)),
    selectBroken: (names) => selectBroken(JSON.parse(names)),
    breakOff: run(
      db,
      `UPDATE sources SET
         broken_off = broken_off + 1,
         last_error = :error,
         failures = failures + 1,
         failing_since = coalesce(failing_since, :now),
         next_poll_at = greatest(next_poll_at, :notBefore),
         status = CASE WHEN :isPaused::int = 1 THEN 'paused' ELSE status END,
         version = version + :isPaused::int,
         updated_at = CASE WHEN :isPaused::int = 1 THEN :now ELSE updated_at END
       WHERE id = :id`,
    ),
    writeProbe: run(db, 'UPDATE probe SET at = ? WHERE id = 1'),
  };
}

/** The probe row that shows whether the storage works, and the heartbeats of processes. */
export function storageReads(db: Connection) {
  const selectProbe = value<[], number>(db, 'SELECT at FROM probe WHERE id = 1');
  const selectSilent = value<[string, number, number], number>(
    db,
    'SELECT 1 FROM processes WHERE name <> ? AND seen_at NOT BETWEEN ? AND ? LIMIT 1',
  );
  const countHeard = value<[string, number, number], number>(
    db,
    'SELECT count(*) FROM processes WHERE name <> ? AND seen_at BETWEEN ? AND ?',
  );
  return {
    readProbe: async () => (await selectProbe()) ?? 0,
    /** Excludes this process. */
    hasSilent: async (process: string, now: number) =>
      (await selectSilent(process, ...heardWithin(now))) !== undefined,
    countHeard: async (process: string, now: number) => (await countHeard(process, ...heardWithin(now))) ?? 0,
  };
}
