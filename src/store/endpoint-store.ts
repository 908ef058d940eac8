import type { Page, PageRequest } from '../model/filters.ts';
import type { McpSubscription } from '../model/mcp.ts';
import type { PayloadShape } from '../model/payload-shape.ts';
import type { Endpoint } from '../model/webhook.ts';

/** An endpoint as events are routed to it. `shape` null: the standard payload. */
export interface Receiver extends Pick<Endpoint, 'id' | 'mode' | 'settings'> {
  shape: PayloadShape | null;
}

/** A step of resuming an endpoint by hand. */
export interface ResumeStep {
  tenantId: string;
  id: string;
  now: number;
  /** How many endpoints the plan lets be active; null: no limit. */
  endpointLimit: number | null;
  /** Retries planned for later that are made due in this step. */
  limit: number;
}

/** Webhook endpoints. */
export interface EndpointStore {
  /** `limit` endpoints at most; `CONFLICT`-free: false where the tenant has that many already. */
  createEndpoint(endpoint: Endpoint, limit: number | null): Promise<boolean>;
  /** All of them, oldest first. */
  listEndpoints(tenantId: string): Promise<Endpoint[]>;
  /** All of them as events are routed to them, in the order of their ids; kept prepared from one call to the next. */
  listReceivers(tenantId: string): Promise<Receiver[]>;
  /** Oldest first. */
  pageEndpoints(tenantId: string, page: PageRequest): Promise<Page<Endpoint>>;
  getEndpoint(tenantId: string, id: string): Promise<Endpoint | null>;
  /**
   * Stores settings and secret; false where the stored version is not `endpoint.version` any more, or it is gone. Probes of
   * a pause begin or end with `auto_resume`. `what` is recorded in the audit log.
   */
  updateEndpoint(endpoint: Endpoint, now: number, what?: 'settings' | 'secret'): Promise<boolean>;
  /** Pauses it by hand; false where there is none. One that is paused already stays so until it is resumed by hand. */
  pauseEndpoint(tenantId: string, id: string, now: number): Promise<boolean>;
  /**
   * A step towards resuming it, to be taken until the answer is not `more`; the last step sets its count to zero and makes
   * it active. `active`: it was not paused; `over_limit`: the plan has no room for it.
   */
  resumeEndpoint(step: ResumeStep): Promise<'resumed' | 'more' | 'active' | 'over_limit' | 'absent'>;
  /**
   * Deletes it, and discards what still waits for it: the first of it at once. False where there is none, or, with a
   * `version`, where it has another.
   */
  deleteEndpoint(tenantId: string, id: string, now: number, version?: number): Promise<boolean>;
}

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
  /** The endpoints of a tenant's subscriptions that are over, as far as `endSubscriptions` has not removed them yet. */
  listEndedSubscriptions(tenantId: string, now: number): Promise<string[]>;
}
