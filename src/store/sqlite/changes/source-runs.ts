import type { Database } from 'better-sqlite3';
import type { SourcePosition } from '../../../model/source.ts';
import type { SourceStore } from '../../source-store.ts';
import type { Part } from '../../store.ts';
import { type SourceRow, toSource } from '../reads/sources.ts';
import { signalChanges } from './signals.ts';

/** Who reads which source when. */
export function sourceRunChanges(db: Database) {
  const lease = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET lease_token = :token, lease_until = :leaseUntil WHERE id = :id AND due_at <= :now`,
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
  const selectById = db.prepare<[string], SourceRow>('SELECT * FROM sources WHERE id = ?');
  const selectHeld = db
    .prepare<[string, string], number>('SELECT 1 FROM sources WHERE id = ? AND lease_token = ?')
    .pluck();
  const finish = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       lease_token = NULL, lease_until = 0,
       last_run_at = :now,
       last_success_at = CASE WHEN :error IS NULL THEN :now ELSE last_success_at END,
       last_error = :error,
       failures = CASE WHEN :error IS NULL THEN 0 ELSE failures + 1 END,
       next_poll_at = max(CASE WHEN next_poll_at = :claimedPollAt THEN :nextPollAt ELSE next_poll_at END, :notBefore),
       not_before = :notBefore,
       position = coalesce(:position, position),
       items_seen = items_seen + :itemsSeen,
       signals_made = signals_made + :signalsMade
     WHERE id = :sourceId AND lease_token = :token`,
  );
  const endLeases = db.prepare<[]>(
    'UPDATE sources SET lease_token = NULL, lease_until = 0 WHERE lease_until > 0',
  );
  const { commitSignals } = signalChanges(db);

  return {
    claimSources: ({ now, leaseUntil, ids, token }) =>
      ids.flatMap((id) => {
        if (lease.run({ id, token, leaseUntil, now }).changes === 0) return [];
        const row = selectById.get(id);
        if (row === undefined) return [];
        return [{ source: toSource(row), position: JSON.parse(row.position) as SourcePosition, token }];
      }),
    finishSourceRun({ signals, error, position, ...run }) {
      if (selectHeld.get(run.sourceId, run.token) === undefined) return null;
      const committed = commitSignals(signals);
      finish.run({
        ...run,
        error: error && JSON.stringify(error),
        position: position && JSON.stringify(position),
        signalsMade: committed.filter(({ status }) => status === 'created').length,
      });
      return committed;
    },
    putOffSource: ({ sourceId, token, claimedPollAt }, until) =>
      void putOff.run({ sourceId, token, claimedPollAt, until }),
    addRunSignals({ sourceId, token }, signals) {
      if (selectHeld.get(sourceId, token) === undefined) return null;
      const committed = commitSignals(signals);
      countSignals.run(committed.filter(({ status }) => status === 'created').length, sourceId);
      return committed;
    },
    recoverSources: () => void endLeases.run(),
  } satisfies Part<SourceStore>;
}
