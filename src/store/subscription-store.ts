import type { McpSubscription } from '../model/mcp.ts';
import type { Endpoint } from '../model/webhook.ts';

/** A subscription with the endpoint of its own that it delivers to. */
export interface SubscribedEndpoint {
  subscription: McpSubscription;
  endpoint: Endpoint;
}

/** Subscriptions of MCP clients. */
export interface SubscriptionStore {
  /** One that has not ended. */
  findSubscription(tenantId: string, id: string): Promise<SubscribedEndpoint | null>;
  /** Stores both, or says which limit is reached. `duplicate`: there is one of that id already. */
  createSubscription(
    made: SubscribedEndpoint,
    most: { ofKey: number; ofTenant: number },
  ): Promise<'created' | 'duplicate' | 'key_limit' | 'tenant_limit'>;
  /** Stores when it ends and the endpoint's secrets, and ends a pause after failures; false where either has changed. */
  renewSubscription(renewed: SubscribedEndpoint): Promise<boolean>;
  /** Ends it, and discards what still waits; the endpoint it had, or null where the key has no such subscription. */
  endSubscription(tenantId: string, keyId: string, id: string, now: number): Promise<string | null>;
  /** Ends up to `limit` whose time is over, whose key has ended, or whose receiver said that it is gone; their endpoints. */
  endSubscriptions(now: number, limit: number): Promise<string[]>;
}
