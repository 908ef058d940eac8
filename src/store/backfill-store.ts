import type { EventRow, NewDelivery } from '../model/event.ts';

/** An endpoint that gets events of before it was made. Times are Unix milliseconds. */
export interface Backfill {
  endpointId: string;
  tenantId: string;
  from: number;
  /** When it was made: what came later it has got as it came. */
  until: number;
  /** Up to which place of the order by commit it has got them. */
  position: number;
}

/** A step of a backfill. */
export interface BackfillStep {
  tenantId: string;
  endpointId: string;
  /** What the step began with; another process may have been there before. */
  position: number;
  next: number;
  isLast: boolean;
  items: { event: EventRow; delivery: NewDelivery }[];
  now: number;
}

/** Deliveries of events from before their endpoint was made. */
export interface BackfillStore {
  /** The oldest endpoint first. */
  listBackfills(limit: number): Promise<Backfill[]>;
  /** Stores deliveries and the place, in one commit; false where the endpoint is gone or further. */
  commitBackfill(step: BackfillStep): Promise<boolean>;
}
