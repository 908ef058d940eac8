import type { Database } from 'better-sqlite3';
import { START_POSITION } from '../../../model/constants.ts';
import type { Source } from '../../../model/source.ts';
import { sourceNameKey } from '../../../rules/name-keys.ts';
import type { SourceStore } from '../../source-store.ts';
import type { Part } from '../../store.ts';
import { READ_SOURCES } from '../reads/sources.ts';

/** With the name as no two of a tenant have it. */
const STORED = READ_SOURCES.with<{ nameKey: string }>({ nameKey: 'plain' });

function newRow(source: Source) {
  return { ...source, nameKey: sourceNameKey(source.name), position: START_POSITION };
}

/** Sources as callers change them; who reads them when is in `source-runs.ts`. */
export function sourceChanges(db: Database) {
  const insert = STORED.insert(db);
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       name = :name, name_key = :nameKey, settings = :settings, secrets = :secrets, profile_ids = :profileIds,
       interval_seconds = :intervalSeconds, max_age_days = :maxAgeDays, status = :status, next_poll_at = max(:nextPollAt, not_before),
       updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :version - 1`,
  );
  const restart = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       position = :position, failures = 0, last_error = NULL, failing_since = NULL, quota = NULL, not_before = 0, next_poll_at = :nextPollAt,
       lease_token = NULL, lease_until = 0
     WHERE id = :id`,
  );
  const remove = db.prepare<Record<string, unknown>[]>(
    'DELETE FROM sources WHERE id = :id AND tenant_id = :tenantId AND version = ifnull(:version, version)',
  );
  const selectNamed = db
    .prepare<[string, string], string>('SELECT id FROM sources WHERE tenant_id = ? AND name_key = ?')
    .pluck();
  const count = db.prepare<[string], number>('SELECT count(*) FROM sources WHERE tenant_id = ?').pluck();
  const askRun = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET next_poll_at = max(:now, not_before)
     WHERE id = :id AND tenant_id = :tenantId AND status = 'active'`,
  );

  const holderOf = ({ tenantId, name }: Source) => selectNamed.get(tenantId, sourceNameKey(name));

  return {
    createSource(source, limit) {
      if (holderOf(source) !== undefined) return 'name_taken';
      if ((count.get(source.tenantId) ?? 0) >= limit) return 'full';
      insert(newRow(source));
      return 'created';
    },
    changeSource(source, restarts) {
      const holder = holderOf(source);
      if (holder !== undefined && holder !== source.id) return 'name_taken';
      const columns = STORED.encode(newRow(source));
      if (update.run(columns).changes === 0) return 'stale';
      if (restarts) restart.run(columns);
      return 'changed';
    },
    deleteSource: (tenantId, id, version) =>
      remove.run({ tenantId, id, version: version ?? null }).changes === 1,
    runSource: (tenantId, id, now) => askRun.run({ tenantId, id, now }).changes === 1,
  } satisfies Part<SourceStore>;
}
