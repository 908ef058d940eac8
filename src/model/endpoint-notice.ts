import type { OperationalType } from './constants.ts';

/** What happened to an endpoint or to one of its deliveries, not yet an event. */
export interface EndpointNotice {
  id: number;
  tenantId: string;
  type: OperationalType;
  endpointId: string;
  /** What the event's data says besides the endpoint. */
  facts: Record<string, unknown>;
}
