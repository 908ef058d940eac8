import type { Database } from 'better-sqlite3';
import type { Endpoint, PausedReason, WebhookInput } from '../../../model/webhook.ts';
import type { LaneClaim } from '../../delivery-store.ts';

interface EndpointRow {
  id: string;
  tenant_id: string;
  settings: string;
  secret_box: Buffer;
  secret_last4: string;
  status: string;
  paused_reason: string | null;
  paused_at: number | null;
  consecutive_failures: number;
  version: number;
  created_at: number;
}

function toEndpoint(row: EndpointRow): Endpoint {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    settings: JSON.parse(row.settings) as WebhookInput,
    secretBox: new Uint8Array(row.secret_box), // not a Buffer: what crosses threads comes out as this
    secretLast4: row.secret_last4,
    status: row.status as Endpoint['status'],
    pausedReason: row.paused_reason as PausedReason | null,
    pausedAt: row.paused_at,
    consecutiveFailures: row.consecutive_failures,
    version: row.version,
    createdAt: row.created_at,
  };
}

export function createEndpointSql(db: Database) {
  const count = db
    .prepare<[string], number>(
      'SELECT count(*) FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL',
    )
    .pluck();
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO webhook_endpoints
       (id, tenant_id, settings, secret_box, secret_last4, status, paused_reason, paused_at, consecutive_failures, version, created_at)
     VALUES
       (:id, :tenantId, :settings, :secretBox, :secretLast4, :status, :pausedReason, :pausedAt, :consecutiveFailures, :version, :createdAt)`,
  );
  const selectOfTenant = db.prepare<[string], EndpointRow>(
    'SELECT * FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL ORDER BY created_at, id',
  );
  const selectPage = db.prepare<[string, number, string, number], EndpointRow>(
    `SELECT * FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND (created_at, id) > (?, ?)
     ORDER BY created_at, id LIMIT ?`,
  );
  const selectOne = db.prepare<[string, string], EndpointRow>(
    'SELECT * FROM webhook_endpoints WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL',
  );
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE webhook_endpoints
     SET settings = :settings, secret_box = :secretBox, secret_last4 = :secretLast4, version = version + 1
     WHERE id = :id AND tenant_id = :tenantId AND version = :version AND deleted_at IS NULL`,
  );
  const markDeleted = db.prepare<[number, string, string]>(
    `UPDATE webhook_endpoints SET deleted_at = ?, version = version + 1
     WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL`,
  );
  const selectActiveVersion = db
    .prepare<[string], number>(
      "SELECT version FROM webhook_endpoints WHERE id = ? AND status = 'active' AND deleted_at IS NULL",
    )
    .pluck();
  const selectById = db.prepare<[string], EndpointRow>('SELECT * FROM webhook_endpoints WHERE id = ?');
  const addFailure = db.prepare<[string], { failures: number; autoResume: number }>(
    `UPDATE webhook_endpoints SET consecutive_failures = consecutive_failures + 1 WHERE id = ?
     RETURNING consecutive_failures AS failures, settings ->> '$.auto_resume' AS autoResume`,
  );
  // The condition saves the write in the common case, success after success.
  const resetFailures = db.prepare<[string]>(
    'UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ? AND consecutive_failures <> 0',
  );

  return {
    insert(endpoint: Endpoint, limit: number | null): boolean {
      if (limit !== null && (count.get(endpoint.tenantId) ?? 0) >= limit) return false;
      insert.run({ ...endpoint, settings: JSON.stringify(endpoint.settings) });
      return true;
    },
    list: (tenantId: string): Endpoint[] => selectOfTenant.all(tenantId).map(toEndpoint),
    /** Up to `limit` after the position [createdAt, id], oldest first. */
    page: (tenantId: string, after: (string | number)[] | null, limit: number): Endpoint[] =>
      selectPage.all(tenantId, Number(after?.[0] ?? -1), String(after?.[1] ?? ''), limit).map(toEndpoint),
    /** Settings and secret of `endpoint`, where its version is still the stored one. */
    update: ({ id, tenantId, version, settings, secretBox, secretLast4 }: Endpoint): boolean => {
      const row = { id, tenantId, version, secretBox, secretLast4, settings: JSON.stringify(settings) };
      return update.run(row).changes === 1;
    },
    get(tenantId: string, id: string): Endpoint | null {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toEndpoint(row);
    },
    markDeleted: (tenantId: string, id: string, now: number): boolean =>
      markDeleted.run(now, id, tenantId).changes === 1,
    /** What a claim tells its caller about the endpoint. */
    changedSince(id: string, knownVersion: number): LaneClaim['endpoint'] {
      const version = selectActiveVersion.get(id);
      if (version === undefined) return 'gone';
      if (version === knownVersion) return null;
      const row = selectById.get(id);
      try {
        return row === undefined ? 'gone' : toEndpoint(row);
      } catch {
        return 'gone'; // its settings are unreadable: that must not end the claim of every other endpoint
      }
    },
    /** The endpoint, deleted or not. */
    getById(id: string): Endpoint | null {
      const row = selectById.get(id);
      return row === undefined ? null : toEndpoint(row);
    },
    /** Failures in a row with this one, and whether a pause for them should be ended by a probe. */
    addFailure(id: string): { failures: number; autoResume: boolean } {
      const row = addFailure.get(id);
      return { failures: row?.failures ?? 0, autoResume: row?.autoResume === 1 };
    },
    clearFailures: (id: string): void => void resetFailures.run(id),
  };
}
