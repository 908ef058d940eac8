import type { OperationalType } from './constants.ts';

/** What happened to an endpoint or to one of its deliveries, not yet an event. */
export interface EndpointNotice {
  id: number;
  tenantId: string;
  type: OperationalType;
  endpointId: string;
  /** Members of the event's data besides the endpoint. */
  facts: Record<string, unknown>;
}
