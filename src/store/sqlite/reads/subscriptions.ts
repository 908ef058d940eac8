import type { Database } from 'better-sqlite3';
import type { McpSubscription } from '../../../model/mcp.ts';
import type { Part } from '../../store.ts';
import type { SubscriptionStore } from '../../subscription-store.ts';
import { Table } from '../table.ts';
import { ENDPOINTS } from './endpoints.ts';

export const SUBSCRIPTIONS = new Table<McpSubscription>('mcp_subscriptions', {
  id: 'plain',
  tenantId: 'plain',
  keyId: 'plain',
  endpointId: 'plain',
  name: 'plain',
  expiresAt: 'plain',
  createdAt: 'plain',
});

export function subscriptionReads(db: Database) {
  const select = SUBSCRIPTIONS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectEndpoint = ENDPOINTS.select<[string]>(db, 'WHERE id = ? AND deleted_at IS NULL');

  return {
    findSubscription(tenantId, id) {
      const subscription = select.get(id, tenantId);
      const endpoint = subscription && selectEndpoint.get(subscription.endpointId);
      return subscription === null || endpoint === null ? null : { subscription, endpoint };
    },
  } satisfies Part<SubscriptionStore>;
}
