import type { Database } from 'better-sqlite3';
import type { Endpoint, PausedReason, WebhookInput } from '../../../model/webhook.ts';
import type { EndpointStore } from '../../endpoint-store.ts';
import type { Part } from '../../store.ts';

/** A `webhook_endpoints` row, as far as it is read. */
export interface EndpointRow {
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

export function toEndpoint(row: EndpointRow): Endpoint {
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

export function endpointReads(db: Database) {
  const selectOfTenant = db.prepare<[string], EndpointRow>(
    'SELECT * FROM webhook_endpoints WHERE tenant_id = +? AND deleted_at IS NULL ORDER BY created_at, id',
  );
  const selectPage = db.prepare<[string, number, string, number], EndpointRow>(
    `SELECT * FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND (created_at, id) > (?, ?)
     ORDER BY created_at, id LIMIT ?`,
  );
  const selectOne = db.prepare<[string, string], EndpointRow>(
    'SELECT * FROM webhook_endpoints WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL',
  );

  return {
    listEndpoints: (tenantId) => selectOfTenant.all(tenantId).map(toEndpoint),
    pageEndpoints: (tenantId, after, limit) =>
      selectPage.all(tenantId, Number(after?.[0] ?? -1), String(after?.[1] ?? ''), limit).map(toEndpoint),
    getEndpoint(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toEndpoint(row);
    },
  } satisfies Part<EndpointStore>;
}
