import type { Endpoint } from '../model/webhook.ts';

/** Webhook endpoints. */
export interface EndpointStore {
  /** `limit` endpoints at most; `CONFLICT`-free: false where the tenant has that many already. */
  createEndpoint(endpoint: Endpoint, limit: number | null): Promise<boolean>;
  listEndpoints(tenantId: string): Promise<Endpoint[]>;
  getEndpoint(tenantId: string, id: string): Promise<Endpoint | null>;
  /** Deletes it and discards what still waits for it; false where there is none. */
  deleteEndpoint(tenantId: string, id: string, now: number): Promise<boolean>;
}
