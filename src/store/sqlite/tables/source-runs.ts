import type { Database } from 'better-sqlite3';
import type { SourceClaim, SourceRun } from '../../source-store.ts';

/** The sources that are due, the longest waiting first. */
export const DUE_SOURCES_SQL =
  'SELECT id FROM sources WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?';

/** When the next one is due. */
export const NEXT_SOURCE_SQL = 'SELECT min(due_at) FROM sources WHERE due_at IS NOT NULL';

/** Who reads which source when. */
export function createSourceRunSql(db: Database) {
  const selectDue = db.prepare<[number, number], string>(DUE_SOURCES_SQL).pluck();
  const selectNext = db.prepare<[], number | null>(NEXT_SOURCE_SQL).pluck();
  const lease = db.prepare<Record<string, unknown>[]>(
    'UPDATE sources SET lease_token = :token, lease_until = :leaseUntil WHERE id = :id',
  );
  const askRun = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET next_poll_at = max(:now, not_before)
     WHERE id = :id AND tenant_id = :tenantId AND status = 'active'`,
  );
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

  return {
    /** Ids of what is due, each leased from now on. */
    claim({ now, leaseUntil, limit, token }: SourceClaim): string[] {
      const ids = selectDue.all(now, limit);
      for (const id of ids) lease.run({ id, token, leaseUntil });
      return ids;
    },
    next: (): number | null => selectNext.get() ?? null,
    ask: (tenantId: string, id: string, now: number): boolean =>
      askRun.run({ tenantId, id, now }).changes === 1,
    /** Whether the source is still held by `token`. */
    isHeld: (sourceId: string, token: string): boolean => selectHeld.get(sourceId, token) === 1,
    finish({ signals: _, error, position, ...run }: SourceRun, signalsMade: number): void {
      finish.run({
        ...run,
        error: error && JSON.stringify(error),
        position: position && JSON.stringify(position),
        signalsMade,
      });
    },
    endLeases: (): void => void endLeases.run(),
  };
}
