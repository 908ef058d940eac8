import type { Database } from 'better-sqlite3';
import type { Endpoint } from '../../../model/webhook.ts';
import type { EndpointStore } from '../../endpoint-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';
import { type CreationPage, pageByCreation } from './pages.ts';

export const ENDPOINTS = new Table<Endpoint>('webhook_endpoints', {
  id: 'plain',
  tenantId: 'plain',
  mode: 'plain',
  settings: 'json',
  secretBox: 'bytes',
  secretLast4: 'plain',
  previousSecretBox: 'bytes',
  previousSecretUntil: 'plain',
  headers: 'json',
  headersBox: 'bytes',
  ordered: 'flag',
  backfillFrom: 'plain',
  status: 'plain',
  pausedReason: 'plain',
  pausedAt: 'plain',
  consecutiveFailures: 'plain',
  alarm: 'plain',
  version: 'plain',
  createdAt: 'plain',
});

export function endpointReads(db: Database) {
  const selectOfTenant = ENDPOINTS.select<[string]>(
    db,
    "WHERE tenant_id = +? AND deleted_at IS NULL AND mode <> 'mcp' ORDER BY created_at, id",
  );
  const selectPage = ENDPOINTS.select<[{ tenantId: string } & CreationPage]>(
    db,
    `WHERE tenant_id = :tenantId AND deleted_at IS NULL AND mode <> 'mcp' AND (created_at, id) > (:createdAt, :id)
     ORDER BY created_at, id LIMIT :limit`,
  );
  const selectOne = ENDPOINTS.select<[string, string]>(
    db,
    "WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL AND mode <> 'mcp'",
  );

  return {
    listEndpoints: (tenantId) => selectOfTenant.all(tenantId),
    pageEndpoints: (tenantId, page) =>
      pageByCreation(page, (position) => selectPage.all({ tenantId, ...position })),
    getEndpoint: (tenantId, id) => selectOne.get(id, tenantId),
  } satisfies Part<EndpointStore>;
}
