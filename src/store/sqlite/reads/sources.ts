import type { Database } from 'better-sqlite3';
import { NO_SETTINGS } from '../../../model/constants.ts';
import type { EndedRun, Source, SourceError, SourceQuota } from '../../../model/source.ts';
import type { SourceKind, SourceSettings } from '../../../model/source-settings.ts';
import type { DueSource, HostHold, SourceStore } from '../../source-store.ts';
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
  secrets: string;
  max_age_days: number;
  failing_since: number | null;
  quota: string | null;
  items_matched: number;
  items_relevant: number;
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
    // Those that a kind got later are not in rows of before.
    settings: { ...NO_SETTINGS, ...(JSON.parse(row.settings) as Partial<SourceSettings>) },
    secrets: JSON.parse(row.secrets) as Source['secrets'],
    profileIds: JSON.parse(row.profile_ids) as string[],
    intervalSeconds: row.interval_seconds,
    maxAgeDays: row.max_age_days,
    status: row.status as Source['status'],
    nextPollAt: row.next_poll_at,
    lastRunAt: row.last_run_at,
    lastSuccessAt: row.last_success_at,
    lastError: row.last_error === null ? null : (JSON.parse(row.last_error) as SourceError),
    failures: row.failures,
    failingSince: row.failing_since,
    quota: row.quota === null ? null : (JSON.parse(row.quota) as SourceQuota),
    itemsSeen: row.items_seen,
    itemsMatched: row.items_matched,
    itemsRelevant: row.items_relevant,
    signalsMade: row.signals_made,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

interface RunRow {
  seq: number;
  id: string;
  started_at: number;
  ended_at: number;
  error: string | null;
  items_seen: number;
  items_matched: number;
  signals_made: number;
}

function toRun(row: RunRow): EndedRun {
  return {
    id: row.id,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    error: row.error === null ? null : (JSON.parse(row.error) as SourceError),
    itemsSeen: row.items_seen,
    itemsMatched: row.items_matched,
    signalsMade: row.signals_made,
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

  const selectRuns = db.prepare<[string, number, number], RunRow>(
    'SELECT * FROM source_runs WHERE source_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
  );
  const selectHolds = db.prepare<[number], HostHold>(
    'SELECT host, scope, until FROM host_holds WHERE until > ?',
  );

  return {
    pageSourceRuns(sourceId, { limit, after }) {
      const found = selectRuns.all(sourceId, Number(after?.[0] ?? Number.MAX_SAFE_INTEGER), limit + 1);
      const rows = found.slice(0, limit);
      const last = found.length > limit ? rows.at(-1) : undefined;
      return { rows: rows.map(toRun), last: last === undefined ? null : [last.seq] };
    },
    hostHolds: (now) => selectHolds.all(now),
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
