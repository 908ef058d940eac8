import type { DeliveryStatus } from '../model/delivery.ts';
import type { EventRow, EventType, SkipReason } from '../model/event.ts';
import type { Page, Place, Position, StoredPage } from '../model/page.ts';

/** Filters and position of a page of events, newest first. `from` <= createdAt < `to`, Unix milliseconds. */
export interface EventQuery extends Place {
  types: EventType[];
  from: number | null;
  to: number | null;
}

/** An event with what its tenant's endpoints got of it. */
export interface RecordedEvent extends EventRow {
  /** Status as it is shown: what waits for a paused endpoint is `held`, for a deleted one `discarded`. */
  deliveries: { id: string; endpointId: string; status: DeliveryStatus; endpointDeleted: boolean }[];
  /** Endpoints that get it later, in one message with others. */
  batched: string[];
  skips: { endpointId: string; reason: SkipReason }[];
}

/** A page of events in the order by commit; see {@link StoredPage}. */
export interface StoredEventPage extends StoredPage {
  rows: RecordedEvent[];
}

/** What a reader in the order by commit waits for. */
export interface StoredWait {
  kind: 'signals' | 'events' | 'feeds' | 'dead_letters';
  after: Position;
}

/** What happened, and who was told. */
export interface EventStore {
  listEvents(tenantId: string, query: EventQuery): Promise<Page<RecordedEvent>>;
  /** Events in the order of their commits, oldest first, as `listStoredSignals` has signals. */
  listStoredEvents(tenantId: string, query: EventQuery): Promise<StoredEventPage>;
  /**
   * Resolves as soon as any of the tenant's signals, or events, stands behind `after` in the order by commit; at once
   * where one does already, and where `signal` aborts or the store closes.
   */
  untilStored(tenantId: string, asked: StoredWait, signal: AbortSignal): Promise<void>;
  /** The newest `limit` events about one signal, lead or campaign. */
  listEventsAbout(tenantId: string, subjectId: string, limit: number): Promise<RecordedEvent[]>;
}
