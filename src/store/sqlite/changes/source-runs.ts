import type { Database } from 'better-sqlite3';
import type { SourcePosition } from '../../../model/source.ts';
import type { SourceStore } from '../../source-store.ts';
import type { Part } from '../../store.ts';
import { type SourceRow, toSource } from '../reads/sources.ts';
import { signalChanges } from './signals.ts';

/** Who reads which source when. */
export function sourceRunChanges(db: Database) {
  const selectDue = db.prepare<[number, number], string>(DUE_SOURCES_SQL).pluck();
  const lease = db.prepare<Record<string, unknown>[]>(
    'UPDATE sources SET lease_token = :token, lease_until = :leaseUntil WHERE id = :id',
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
    claimSources: ({ now, leaseUntil, limit, token }) =>
      selectDue.all(now, limit).flatMap((id) => {
        lease.run({ id, token, leaseUntil });
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
    recoverSources: () => void endLeases.run(),
  } satisfies Part<SourceStore>;
}

/** The sources that are due, the longest waiting first. */
export const DUE_SOURCES_SQL =
  'SELECT id FROM sources WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?';
