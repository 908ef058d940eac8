import type { Page, PageRequest } from '../model/filters.ts';
import type { McpSubscription } from '../model/mcp.ts';
import type { PayloadShape } from '../model/payload-shape.ts';
import type { Endpoint, ListedEndpoint } from '../model/webhook.ts';

/** An endpoint, prepared for routing events. `shape` null: the standard payload. */
export interface Receiver extends Pick<Endpoint, 'id' | 'mode' | 'settings'> {
  shape: PayloadShape | null;
}

/** A step of resuming an endpoint manually. */
export interface ResumeStep {
  tenantId: string;
  id: string;
  now: number;
  /** Maximum number of active endpoints in the plan; null: no limit. */
  endpointLimit: number | null;
  /** Maximum number of planned retries made due in this step. */
  limit: number;
}

/** Webhook endpoints. */
export interface EndpointStore {
  /** `limit` endpoints at most, with a total size of their payload formats; null: any number. */
  createEndpoint(
    endpoint: Endpoint,
    limit: number | null,
    formatsLimit?: number,
  ): Promise<'created' | 'full' | 'formats_full'>;
  countEndpoints(tenantId: string): Promise<number>;
  /** All of them, oldest first. */
  listEndpoints(tenantId: string): Promise<ListedEndpoint[]>;
  /** Changes if one is created, deleted, or has another version. */
  endpointStamp(tenantId: string): Promise<string>;
  /** All of them prepared for routing, in the order of their ids; cached until one changes, and not to be modified. */
  listReceivers(tenantId: string): Promise<readonly Receiver[]>;
  /** Changes with each change of the tenant's endpoints, and of some other resources. */
  receiverStamp(tenantId: string): Promise<string>;
  /** `limit` that were not cached at most; of cached ones, five times as many, because only their versions are read. */
  pageReceivers(tenantId: string, page: PageRequest): Promise<Page<Receiver>>;
  /** Oldest first. */
  pageEndpoints(tenantId: string, page: PageRequest): Promise<Page<ListedEndpoint>>;
  getEndpoint(tenantId: string, id: string): Promise<Endpoint | null>;
  /**
   * Stores settings and secret; `stale`: the stored version is no longer `endpoint.version`, or it was deleted. `auto_resume`
   * starts or stops the probes of a pause. `what` is recorded in the audit log. A payload format no larger than before is stored
   * regardless of the limit.
   */
  updateEndpoint(
    endpoint: Endpoint,
    now: number,
    what?: 'settings' | 'secret',
    formatsLimit?: number,
  ): Promise<'updated' | 'stale' | 'formats_full'>;
  /** Pauses it manually; false if there is none. An automatic pause then also lasts until it is resumed manually. */
  pauseEndpoint(tenantId: string, id: string, now: number): Promise<boolean>;
  /**
   * A step of resuming it, to be repeated while it returns `more`; the last step resets the failure count and activates it.
   * `active`: it was not paused; `over_limit`: the plan allows no further active endpoint.
   */
  resumeEndpoint(step: ResumeStep): Promise<'resumed' | 'more' | 'active' | 'over_limit' | 'absent'>;
  /**
   * Deletes it and discards its pending deliveries, the first of them immediately. False if there is none or, with a
   * `version`, if it has another version.
   */
  deleteEndpoint(tenantId: string, id: string, now: number, version?: number): Promise<boolean>;
}

/** A subscription with its endpoint. */
export interface SubscribedEndpoint {
  subscription: McpSubscription;
  endpoint: Endpoint;
}

/** Subscriptions of MCP clients. */
export interface SubscriptionStore {
  /** A subscription that has not ended. */
  findSubscription(tenantId: string, id: string): Promise<SubscribedEndpoint | null>;
  /** Stores both, or returns the limit that is reached. `duplicate`: the id already exists. */
  createSubscription(
    made: SubscribedEndpoint,
    most: { ofKey: number; ofTenant: number },
  ): Promise<'created' | 'duplicate' | 'key_limit' | 'tenant_limit'>;
  /** Stores the new end and the endpoint's secrets, and ends a pause after failures; false if either has changed. */
  renewSubscription(renewed: SubscribedEndpoint): Promise<boolean>;
  /** Ends it and discards its pending deliveries; returns its endpoint, or null if the key has no such subscription. */
  endSubscription(tenantId: string, keyId: string, id: string, now: number): Promise<string | null>;
  /** Ends up to `limit` that have expired, whose key has ended, or whose receiver is gone; returns their endpoints. */
  endSubscriptions(now: number, limit: number): Promise<string[]>;
  /** Endpoints of the tenant's subscriptions that are over but not yet removed by `endSubscriptions`. */
  listEndedSubscriptions(tenantId: string, now: number): Promise<string[]>;
}
