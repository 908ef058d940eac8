import type { Database } from 'better-sqlite3';

/** When test deliveries were sent: all that is kept of them, for the throttle. */
export function createTestSendSql(db: Database) {
  const insert = db.prepare<[string, string, number]>(
    'INSERT INTO test_sends (id, endpoint_id, started_at) VALUES (?, ?, ?)',
  );
  const selectSince = db.prepare<[number], { endpointId: string; startedAt: number }>(
    'SELECT endpoint_id AS endpointId, started_at AS startedAt FROM test_sends WHERE started_at > ? ORDER BY started_at',
  );
  const prune = db.prepare<[number]>('DELETE FROM test_sends WHERE started_at < ?');

  return {
    insert({ id, endpointId, startedAt }: { id: string; endpointId: string; startedAt: number }): void {
      insert.run(id, endpointId, startedAt);
    },
    /** Those after `since`, ascending. */
    since: (since: number) => selectSince.all(since),
    prune: (before: number): number => prune.run(before).changes,
  };
}
