import type { Database } from 'better-sqlite3';
import type { Source, SourceError, SourceKind, SourceSettings } from '../../../model/source.ts';
import type { DueSource, SourceStore } from '../../source-store.ts';
import type { Part } from '../../store.ts';
import { pageByCreation } from './pages.ts';

/** A `sources` row. */
export interface SourceRow {
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

export function toSource(row: SourceRow): Source {
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

/** Sources as callers know them, and when the next is due. */
export function sourceReads(db: Database) {
  const selectOne = db.prepare<[string, string], SourceRow>(
    'SELECT * FROM sources WHERE id = ? AND tenant_id = ?',
  );
  const selectPage = db.prepare<Record<string, unknown>[], SourceRow>(SOURCE_PAGE_SQL);
  const selectNext = db.prepare<[number], number | null>(NEXT_SOURCE_SQL).pluck();
  const selectDue = db.prepare<[number], DueSource>(DUE_SOURCES_SQL);

  return {
    getSource(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toSource(row);
    },
    pageSources: (tenantId, page) =>
      pageByCreation(page, (position) => selectPage.all({ tenantId, ...position }).map(toSource)),
    dueSources: (now) => selectDue.all(now),
    nextSourceDue: (after) => selectNext.get(after) ?? null,
  } satisfies Part<SourceStore>;
}

/** A page in the order of making. */
export const SOURCE_PAGE_SQL = `SELECT * FROM sources
  WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit`;

/** Of each tenant and host the one that was due longest: `min` takes the other columns of its own row. */
export const DUE_SOURCES_SQL = `SELECT id, tenant_id AS tenantId, host, min(due_at) AS dueAt FROM sources
  WHERE due_at IS NOT NULL AND due_at <= ? GROUP BY tenant_id, host ORDER BY dueAt`;

/** When the next one is due. */
export const NEXT_SOURCE_SQL = 'SELECT min(due_at) FROM sources WHERE due_at IS NOT NULL AND due_at > ?';
