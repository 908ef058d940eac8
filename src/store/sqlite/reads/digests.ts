import type { Database } from 'better-sqlite3';
import { SAMPLE_PLATFORM } from '../../../model/samples.ts';
import type { TenantSettings } from '../../../model/settings.ts';
import type { DigestStore } from '../../digest-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';

interface Digest {
  digestEnabled: boolean;
  digestHour: number;
}

const SETTINGS = new Table<Omit<TenantSettings, 'digest'> & Digest>('tenant_settings', {
  tenantId: 'plain',
  timezone: 'plain',
  digestEnabled: 'flag',
  digestHour: 'plain',
  digestDueAt: 'plain',
  digestSince: 'plain',
  digestMadeAt: 'plain',
});

function toSettings<S extends Digest>({ digestEnabled: enabled, digestHour: hour, ...rest }: S) {
  return { ...rest, digest: { enabled, hour } };
}

/** Signals looked at for one digest; about 50 ms of a reader. */
const MAX_LOOKED_AT = 20_000;

/** Settings of tenants, and what their digests tell of. */
export function digestReads(db: Database) {
  const selectOne = SETTINGS.select<[string]>(db, 'WHERE tenant_id = ?');
  const selectDue = SETTINGS.select<[number, number]>(
    db,
    `INDEXED BY tenant_settings_due
     WHERE digest_enabled = 1 AND digest_due_at <= ? ORDER BY digest_due_at LIMIT ?`,
  );
  // The row's number holds the time (migration 006), so that a range of time is a range of rows.
  const inRange = `SELECT seq, classification, score FROM signals INDEXED BY signals_by_time
    WHERE tenant_id = :tenantId AND seq >= :from << 21 AND seq < :to << 21 AND platform <> '${SAMPLE_PLATFORM}'
    ORDER BY seq DESC LIMIT ${MAX_LOOKED_AT}`;
  const countClasses = db.prepare<Record<string, unknown>[], { classification: string; n: number }>(
    `SELECT classification, count(*) AS n FROM (${inRange}) GROUP BY classification`,
  );
  const selectBest = db
    .prepare<Record<string, unknown>[], string>(
      `SELECT s.wire FROM (SELECT seq FROM (${inRange}) WHERE classification IN ('hot', 'warm')
                           ORDER BY score DESC, seq DESC LIMIT :limit) b
       JOIN signals s ON s.seq = b.seq ORDER BY s.score DESC, s.seq DESC`,
    )
    .pluck();

  return {
    getSettings(tenantId) {
      const row = selectOne.get(tenantId);
      return row === null ? null : toSettings(row);
    },
    dueDigests: (now, limit) => selectDue.all(now, limit).map(toSettings),
    findBest(tenantId, { from, to, limit }) {
      const counts = new Map(
        countClasses.all({ tenantId, from, to }).map(({ classification, n }) => [classification, n]),
      );
      return {
        hot: counts.get('hot') ?? 0,
        warm: counts.get('warm') ?? 0,
        wires: selectBest.all({ tenantId, from, to, limit }),
      };
    },
  } satisfies Part<DigestStore>;
}
