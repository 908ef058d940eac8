import type { Database } from 'better-sqlite3';
import {
  type Source,
  type SourceError,
  type SourceKind,
  type SourcePosition,
  type SourceSettings,
  START_POSITION,
  sourceNameKey,
} from '../../../model/source.ts';

interface SourceRow {
  id: string;
  tenant_id: string;
  kind: string;
  name: string;
  settings: string;
  profile_ids: string;
  interval_seconds: number;
  status: string;
  next_poll_at: number;
  last_run_at: number | null;
  last_success_at: number | null;
  last_error: string | null;
  failures: number;
  items_seen: number;
  signals_made: number;
  position: string;
  created_at: number;
  updated_at: number;
  version: number;
}

function toSource(row: SourceRow): Source {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    kind: row.kind as SourceKind,
    name: row.name,
    settings: JSON.parse(row.settings) as SourceSettings,
    profileIds: JSON.parse(row.profile_ids) as string[],
    intervalSeconds: row.interval_seconds,
    status: row.status as Source['status'],
    nextPollAt: row.next_poll_at,
    lastRunAt: row.last_run_at,
    lastSuccessAt: row.last_success_at,
    lastError: row.last_error === null ? null : (JSON.parse(row.last_error) as SourceError),
    failures: row.failures,
    itemsSeen: row.items_seen,
    signalsMade: row.signals_made,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

function toColumns(source: Source) {
  return {
    id: source.id,
    tenantId: source.tenantId,
    kind: source.kind,
    name: source.name,
    nameKey: sourceNameKey(source.name),
    settings: JSON.stringify(source.settings),
    profileIds: JSON.stringify(source.profileIds),
    intervalSeconds: source.intervalSeconds,
    status: source.status,
    nextPollAt: source.nextPollAt,
    failures: source.failures,
    createdAt: source.createdAt,
    updatedAt: source.updatedAt,
    version: source.version,
    start: JSON.stringify(START_POSITION),
  };
}

/** Sources as callers know them; who reads them when is in `source-runs.ts`. */
export function createSourceSql(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO sources
       (id, tenant_id, kind, name, name_key, settings, profile_ids, interval_seconds, status, next_poll_at, failures,
        position, created_at, updated_at, version)
     VALUES
       (:id, :tenantId, :kind, :name, :nameKey, :settings, :profileIds, :intervalSeconds, :status, :nextPollAt, :failures,
        :start, :createdAt, :updatedAt, :version)`,
  );
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       name = :name, name_key = :nameKey, settings = :settings, profile_ids = :profileIds,
       interval_seconds = :intervalSeconds, status = :status, next_poll_at = max(:nextPollAt, not_before),
       updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :version - 1`,
  );
  const restart = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       position = :start, failures = 0, last_error = NULL, not_before = 0, next_poll_at = :nextPollAt,
       lease_token = NULL, lease_until = 0
     WHERE id = :id`,
  );
  const remove = db.prepare<[string, string]>('DELETE FROM sources WHERE id = ? AND tenant_id = ?');
  const selectOne = db.prepare<[string, string], SourceRow>(
    'SELECT * FROM sources WHERE id = ? AND tenant_id = ?',
  );
  const selectById = db.prepare<[string], SourceRow>('SELECT * FROM sources WHERE id = ?');
  const selectPage = db.prepare<Record<string, unknown>[], SourceRow>(SOURCE_PAGE_SQL);
  const selectNamed = db
    .prepare<[string, string], string>('SELECT id FROM sources WHERE tenant_id = ? AND name_key = ?')
    .pluck();
  const count = db.prepare<[string], number>('SELECT count(*) FROM sources WHERE tenant_id = ?').pluck();

  return {
    insert: (source: Source): void => void insert.run(toColumns(source)),
    update: (source: Source): boolean => update.run(toColumns(source)).changes === 1,
    restart: (source: Source): void => {
      const { id, start, nextPollAt } = toColumns(source);
      restart.run({ id, start, nextPollAt });
    },
    remove: (tenantId: string, id: string): boolean => remove.run(id, tenantId).changes === 1,
    count: (tenantId: string): number => count.get(tenantId) ?? 0,
    /** Id of the source that is called so. */
    named: (tenantId: string, name: string): string | null =>
      selectNamed.get(tenantId, sourceNameKey(name)) ?? null,
    get(tenantId: string, id: string): Source | null {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toSource(row);
    },
    /** A source with how far it was read. */
    claimed(id: string): { source: Source; position: SourcePosition } | null {
      const row = selectById.get(id);
      return row === undefined
        ? null
        : { source: toSource(row), position: JSON.parse(row.position) as SourcePosition };
    },
    page: (tenantId: string, page: { createdAt: number; id: string; limit: number }): Source[] =>
      selectPage.all({ tenantId, ...page }).map(toSource),
  };
}

/** A page in the order of making. */
export const SOURCE_PAGE_SQL = `SELECT * FROM sources
  WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit`;
