import type { Database } from 'better-sqlite3';
import { heardWithin } from '../../changes/processes.ts';
import type { Backlog, StoreCounts } from '../../figures.ts';
import { presenceSql } from '../sql/processes.ts';
import { WAITING } from './shown-state.ts';

interface BacklogRow {
  endpointId: string;
  status: 'pending' | 'retrying';
  count: number;
  oldest: number;
}

/** Counts over all tenants, each from one index. Waiting deliveries are all counted: 0.1 s per million. */
export function createCounts(db: Database): (lateBefore: number) => StoreCounts {
  const selectWaiting = db.prepare<[], BacklogRow>(
    `SELECT d.endpoint_id AS endpointId, d.status, count(*) AS count, min(d.next_attempt_at) AS oldest
     FROM deliveries d INDEXED BY deliveries_due WHERE d.${WAITING} GROUP BY d.endpoint_id, d.status`,
  );
  const selectPaused = db
    .prepare<[], string>("SELECT id FROM webhook_endpoints WHERE status = 'paused' AND deleted_at IS NULL")
    .pluck();
  const selectDeleted = db
    .prepare<[], string>('SELECT id FROM webhook_endpoints WHERE deleted_at IS NOT NULL AND cleared = 0')
    .pluck();
  const count = (sql: string) => db.prepare<number[], number>(sql).pluck();
  const dead = count("SELECT count(*) FROM deliveries INDEXED BY deliveries_expiring WHERE status = 'dead'");
  const mail = count('SELECT count(*) FROM mail_outbox WHERE next_try_at IS NOT NULL');
  // A source that is being read is not due before its lease ends.
  const late = count('SELECT count(*) FROM sources WHERE due_at < ?');
  const failing = count("SELECT count(*) FROM sources WHERE status = 'active' AND failures > 0");

  return (lateBefore) => {
    const paused = new Set(selectPaused.all());
    const deleted = new Set(selectDeleted.all()); // their waiting deliveries are about to be marked as discarded
    const waiting = { pending: nothing(), retrying: nothing(), held: nothing() };
    for (const { endpointId, status, count, oldest } of selectWaiting.iterate()) {
      if (deleted.has(endpointId)) continue;
      const state = waiting[paused.has(endpointId) ? 'held' : status];
      state.count += count;
      state.oldestDueAt = Math.min(state.oldestDueAt ?? oldest, oldest);
    }
    return {
      waiting,
      deadLetters: dead.get() ?? 0,
      endpointsPaused: paused.size,
      mailWaiting: mail.get() ?? 0,
      sourcesLate: late.get(lateBefore) ?? 0,
      sourcesFailing: failing.get() ?? 0,
    };
  };
}

function nothing(): Backlog {
  return { count: 0, oldestDueAt: null };
}

/** The probe row that shows whether the storage works, and the heartbeats of processes. */
export function storageReads(db: Database) {
  const select = db.prepare<[], number>('SELECT at FROM probe WHERE id = 1').pluck();
  const { listSilent } = presenceSql(db);
  const countHeard = db
    .prepare<[string, number, number], number>(
      'SELECT count(*) FROM processes WHERE name <> ? AND seen_at BETWEEN ? AND ?',
    )
    .pluck();

  return {
    readProbe: () => select.get() ?? 0,
    /** Excludes this process. */
    hasSilent: (process: string, now: number) => listSilent(process, ...heardWithin(now)).length > 0,
    countHeard: (process: string, now: number) => countHeard.get(process, ...heardWithin(now)) ?? 0,
  };
}
