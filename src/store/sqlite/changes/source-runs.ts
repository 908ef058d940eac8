import type { Database } from 'better-sqlite3';
import type { CommittedSignal, NewSignal } from '../../signal-store.ts';
import type { ClaimedSource, SourceClaim, SourceStore } from '../../source-store.ts';
import type { Part } from '../../store.ts';
import { READ_SOURCES, wholeSource } from '../reads/sources.ts';
import { createMailWriter } from './mail.ts';
import type { SignalChanges } from './signals.ts';

/** Runs of a source that can be looked at. */
const KEPT_RUNS = 100;

/** Who reads which source when. */
export function sourceRunChanges(db: Database, { commitSignals }: Pick<SignalChanges, 'commitSignals'>) {
  const lease = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET lease_token = :token, lease_until = :leaseUntil, lease_process = :process WHERE id = :id AND due_at <= :now`,
  );
  const putOff = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       lease_token = NULL, lease_until = 0,
       next_poll_at = CASE WHEN next_poll_at = :claimedPollAt THEN max(:until, next_poll_at) ELSE next_poll_at END
     WHERE id = :sourceId AND lease_token = :token`,
  );
  const countSignals = db.prepare<[number, string]>(
    'UPDATE sources SET signals_made = signals_made + ? WHERE id = ?',
  );
  const selectById = READ_SOURCES.select<[string]>(db, 'WHERE id = ?');
  const selectHeld = db
    .prepare<[string, string], number>('SELECT 1 FROM sources WHERE id = ? AND lease_token = ?')
    .pluck();
  const finish = db.prepare<Record<string, unknown>[]>(
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
  );
  // How far the clock ran ahead at the least: what it planned may be later by as much.
  const replan = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       next_poll_at = max(:now, not_before - (ifnull(last_run_at, created_at) - :now)),
       not_before = max(0, not_before - (ifnull(last_run_at, created_at) - :now)),
       last_run_at = CASE WHEN last_run_at IS NOT NULL THEN :now END,
       last_success_at = min(last_success_at, :now),
       failing_since = min(failing_since, :now)
     WHERE ifnull(last_run_at, created_at) > :now AND next_poll_at > :now AND lease_until = 0`,
  );
  const insertRun = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO source_runs
       (id, source_id, started_at, ended_at, error, items_seen, items_matched, signals_made)
     VALUES (:token || '_' || :sourceId, :sourceId, :startedAt, :now, :error, :itemsSeen, :itemsMatched, :signalsMade)`,
  );
  const pruneRuns = db.prepare<Record<string, unknown>[]>(
    `DELETE FROM source_runs WHERE source_id = :sourceId AND seq <=
       (SELECT seq FROM source_runs WHERE source_id = :sourceId ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_RUNS})`,
  );
  const link = db.prepare<[string, string]>(
    'INSERT INTO source_signals (signal_id, source_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const hold = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO host_holds (host, scope, until) VALUES (:host, :scope, :until)
     ON CONFLICT (host, scope) DO UPDATE SET until = max(until, excluded.until)`,
  );
  const addMail = createMailWriter(db);

  function commitOf(sourceId: string, signals: NewSignal[]): CommittedSignal[] {
    const committed = commitSignals(signals);
    for (const { id, status } of committed) if (status === 'created') link.run(id, sourceId);
    return committed;
  }

  return {
    leaseSources: ({
      now,
      leaseUntil,
      ids,
      token,
      process,
    }: SourceClaim & { process: string }): ClaimedSource[] =>
      ids.flatMap((id) => {
        if (lease.run({ id, token, leaseUntil, now, process }).changes === 0) return [];
        const row = selectById.get(id);
        if (row === null) return [];
        const { position, ...source } = wholeSource(row);
        return [{ source, position, token }];
      }),
    finishSourceRun({ signals, error, position, quota, mail, signalsAdded, ...run }) {
      if (selectHeld.get(run.sourceId, run.token) === undefined) return null;
      const committed = commitOf(run.sourceId, signals);
      const columns = {
        ...run,
        error: error && JSON.stringify(error),
        position: position && JSON.stringify(position),
        quota: quota && JSON.stringify(quota),
        signalsMade: committed.filter(({ status }) => status === 'created').length,
      };
      finish.run(columns);
      insertRun.run({ ...columns, signalsMade: columns.signalsMade + signalsAdded });
      pruneRuns.run({ sourceId: run.sourceId });
      if (mail !== null) addMail(mail);
      return committed;
    },
    holdHost: (held) => void hold.run({ ...held }),
    putOffSource: ({ sourceId, token, claimedPollAt }, until) =>
      void putOff.run({ sourceId, token, claimedPollAt, until }),
    addRunSignals({ sourceId, token }, signals) {
      if (selectHeld.get(sourceId, token) === undefined) return null;
      const committed = commitOf(sourceId, signals);
      countSignals.run(committed.filter(({ status }) => status === 'created').length, sourceId);
      return committed;
    },
    replanSources: (now) => replan.run({ now }).changes,
  } satisfies Part<SourceStore> & Record<'leaseSources', unknown>;
}
