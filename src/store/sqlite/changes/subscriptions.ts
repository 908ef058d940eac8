import type { Database } from 'better-sqlite3';
import type { Part } from '../../store.ts';
import type { SubscriptionStore } from '../../subscription-store.ts';
import { ENDPOINTS } from '../reads/endpoints.ts';
import { SUBSCRIPTIONS } from '../reads/subscriptions.ts';
import { createDiscard } from './discard.ts';
import { createEndpointState } from './endpoint-state.ts';

/** Deliveries discarded, or made due, in one commit; housekeeping does the rest of the first. */
const AT_ONCE = 1_000;

export function subscriptionChanges(db: Database) {
  const insert = SUBSCRIPTIONS.insert(db);
  const insertEndpoint = ENDPOINTS.insert(db);
  const selectId = db.prepare<[string], number>('SELECT 1 FROM mcp_subscriptions WHERE id = ?').pluck();
  const counts = db.prepare<[string, string], { ofKey: number; ofTenant: number }>(
    `SELECT count(*) AS ofTenant, count(*) FILTER (WHERE key_id = ?) AS ofKey
     FROM mcp_subscriptions WHERE tenant_id = ?`,
  );
  const renew = db.prepare<[number, string]>('UPDATE mcp_subscriptions SET expires_at = ? WHERE id = ?');
  const renewEndpoint = db.prepare<Record<string, unknown>[]>(
    `UPDATE webhook_endpoints
     SET secret_box = :secretBox, secret_last4 = :secretLast4, previous_secret_box = :previousSecretBox,
       previous_secret_until = :previousSecretUntil, version = version + 1
     WHERE id = :id AND tenant_id = :tenantId AND version = :version AND deleted_at IS NULL`,
  );
  const take = db
    .prepare<[string, string, string], string>(
      'DELETE FROM mcp_subscriptions WHERE id = ? AND tenant_id = ? AND key_id = ? RETURNING endpoint_id',
    )
    .pluck();
  const takeEnded = db
    .prepare<[{ now: number; limit: number }], string>(
      `DELETE FROM mcp_subscriptions WHERE id IN (
         SELECT s.id FROM mcp_subscriptions s
           LEFT JOIN api_keys k ON k.id = s.key_id LEFT JOIN webhook_endpoints e ON e.id = s.endpoint_id
         WHERE s.expires_at <= :now OR k.id IS NULL OR k.revoked_at IS NOT NULL OR k.expires_at <= :now
           OR e.id IS NULL OR e.deleted_at IS NOT NULL OR e.paused_reason = 'gone'
         LIMIT :limit)
       RETURNING endpoint_id`,
    )
    .pluck();
  const markDeleted = db.prepare<[number, string]>(
    'UPDATE webhook_endpoints SET deleted_at = ?, version = version + 1 WHERE id = ? AND deleted_at IS NULL',
  );
  const discardWaiting = createDiscard(db);
  const state = createEndpointState(db);

  function end(endpointId: string, now: number): void {
    markDeleted.run(now, endpointId);
    discardWaiting(endpointId, AT_ONCE);
  }

  return {
    createSubscription({ subscription, endpoint }, most) {
      const { tenantId, keyId, id } = subscription;
      if (selectId.get(id) !== undefined) return 'duplicate';
      const { ofKey = 0, ofTenant = 0 } = counts.get(keyId, tenantId) ?? {};
      if (ofKey >= most.ofKey) return 'key_limit';
      if (ofTenant >= most.ofTenant) return 'tenant_limit';
      insertEndpoint(endpoint);
      insert(subscription);
      return 'created';
    },
    renewSubscription({ subscription, endpoint }) {
      if (renewEndpoint.run(ENDPOINTS.encode(endpoint)).changes === 0) return false;
      if (renew.run(subscription.expiresAt, subscription.id).changes === 0) return false;
      if (endpoint.status === 'paused') {
        state.releaseRetries(endpoint.id, subscription.createdAt, AT_ONCE);
        state.activate(endpoint.id, { clearFailures: true });
      }
      return true;
    },
    endSubscription(tenantId, keyId, id, now) {
      const endpointId = take.get(id, tenantId, keyId) ?? null;
      if (endpointId !== null) end(endpointId, now);
      return endpointId;
    },
    endSubscriptions(now, limit) {
      const endpointIds = takeEnded.all({ now, limit });
      for (const endpointId of endpointIds) end(endpointId, now);
      return endpointIds;
    },
  } satisfies Part<SubscriptionStore>;
}
