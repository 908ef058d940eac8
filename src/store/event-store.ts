import type { DeliveryStatus } from '../model/delivery.ts';
import type {
  EndpointNotice,
  EventRow,
  EventType,
  NewDelivery,
  RoutedEvent,
  SkipReason,
} from '../model/event.ts';
import type { Page, PageRequest, Position, StoredPage } from '../model/filters.ts';
import type { Classification } from '../model/signal.ts';

/** Filters and position of a page of events, newest first. `from` <= createdAt < `to`, Unix milliseconds. */
export interface EventQuery extends PageRequest {
  types: EventType[];
  from: number | null;
  to: number | null;
}

/**
 * An event with its outcome for each endpoint of the tenant: at most `MOST_OUTCOMES` deliveries, and as many that it was sent
 * with or is batched in. If all lists together have fewer, they are complete.
 */
export interface RecordedEvent extends EventRow {
  /** The displayed status: pending deliveries of a paused endpoint are `held`, those of a deleted one `discarded`. */
  deliveries: { id: string; endpointId: string; status: DeliveryStatus; endpointDeleted: boolean }[];
  /** Endpoints that get it later, batched with others. */
  batched: string[];
  skips: { endpointId: string; reason: SkipReason }[];
}

/** A page of events in commit order; see {@link StoredPage}. */
export interface StoredEventPage extends StoredPage {
  rows: RecordedEvent[];
}

/** What a client that reads in commit order waits for. */
export interface StoredWait {
  kind: 'signals' | 'events' | 'feeds' | 'dead_letters';
  after: Position;
}

/** An event, and its outcome for each endpoint. */
export interface EventStore {
  listEvents(tenantId: string, query: EventQuery): Promise<Page<RecordedEvent>>;
  /** Events in commit order, oldest first, like `listStoredSignals`. */
  listStoredEvents(tenantId: string, query: EventQuery): Promise<StoredEventPage>;
  /**
   * Resolves as soon as the tenant has a signal, or event, after `after` in commit order: immediately if there already is
   * one, if `signal` aborts, or if the store closes.
   */
  untilStored(tenantId: string, asked: StoredWait, signal: AbortSignal): Promise<void>;
  /** The newest `limit` events about one signal, lead or campaign. */
  listEventsAbout(tenantId: string, subjectId: string, limit: number): Promise<RecordedEvent[]>;
}

/** Notices of one tenant, turned into events. */
export interface NoticeChange {
  tenantId: string;
  ids: number[];
  events: RoutedEvent[];
}

/** Notices about endpoints and deliveries that wait to become events. */
export interface NoticeStore {
  /** The tenants that have any. */
  listNoticeTenants(): Promise<string[]>;
  /** The oldest of a tenant, oldest first. */
  listNotices(tenantId: string, limit: number): Promise<EndpointNotice[]>;
  /** Replaces the notices with events in one commit; false, and no change, if one of them is gone. */
  commitNotices(change: NoticeChange): Promise<boolean>;
}

/** Deliveries of an event to thousands of endpoints, to be stored in a separate commit. */
export interface EventRemainder {
  tenantId: string;
  eventId: string;
  part: number;
}

/** The endpoints of stored deliveries. */
export interface StoredRemainder {
  due: string[];
  /** Of deliveries that are too large to be sent. */
  rejected: string[];
}

/**
 * Deliveries of events to very many endpoints. The commit that stores an event contains only some of them, and the remainders as
 * lists, each of which is replaced by its deliveries in a separate commit.
 */
export interface RemainderStore {
  /** Lists that wait, in no particular order. */
  listRemainders(limit: number): Promise<EventRemainder[]>;
  /** Stores the deliveries of a list; null: they are stored already. */
  storeRemainder(remainder: EventRemainder): Promise<StoredRemainder | null>;
  /** Stores the remainders of events that were just stored. A failure is none: they are stored later. */
  storeRemainders(events: readonly RoutedEvent[]): Promise<void>;
}

/** An endpoint with batched events. */
export interface WaitingBatch {
  endpointId: string;
  tenantId: string;
  /** When the oldest of them happened, Unix milliseconds. */
  since: number;
}

/** The oldest batched events of an endpoint, and their signals, each once. */
export interface BatchedSignals {
  /** Number of events. */
  events: number;
  /** The newest of them. */
  last: EventRow;
  counts: Record<Classification, number>;
  /** The best of the signals as wire JSON, best first. */
  wires: string[];
}

/** A message built from the events that were read: stored only if they still wait and have not changed. */
export interface BatchChange {
  endpointId: string;
  tenantId: string;
  read: Pick<BatchedSignals, 'events' | 'last' | 'wires'>;
  delivery: NewDelivery;
  now: number;
}

/** Events that are sent in one message instead of one by one. */
export interface BatchStore {
  /** The next `limit` endpoints with batched events after the one with the ID `after`, by ID, including deleted ones. */
  listWaitingBatches(after: string, limit: number): Promise<WaitingBatch[]>;
  /** The oldest `limit` batched events of an endpoint, with the `best` best signals; null: there are none. */
  readBatch(endpointId: string, limits: { limit: number; best: number }): Promise<BatchedSignals | null>;
  /** Stores the delivery of a message and removes its events from the batch, in one commit; false if they have changed. */
  commitBatch(batch: BatchChange): Promise<boolean>;
  /** Removes up to `limit` batched events of an endpoint; returns their number. */
  dropBatched(endpointId: string, limit: number): Promise<number>;
}

/** An endpoint that gets events from before its creation. Times are Unix milliseconds. */
export interface Backfill {
  endpointId: string;
  tenantId: string;
  from: number;
  /** When it was created: later events were delivered as they happened. */
  until: number;
  /** The position in commit order up to which it has got them. */
  position: number;
}

/** A step of a backfill. */
export interface BackfillStep {
  tenantId: string;
  endpointId: string;
  /** The position at the start of the step; another process may have advanced it. */
  position: number;
  next: number;
  isLast: boolean;
  items: { event: EventRow; delivery: NewDelivery }[];
  now: number;
}

/** Deliveries of events from before the creation of their endpoint. */
export interface BackfillStore {
  /** Oldest endpoint first. */
  listBackfills(limit: number): Promise<Backfill[]>;
  /**
   * Stores deliveries and the position in one commit, except for events that were routed to the endpoint when they happened;
   * false if the endpoint is gone or has advanced, or if such deliveries of one of the events are not stored yet.
   */
  commitBackfill(step: BackfillStep): Promise<boolean>;
}

/** A delivery in the feed of its endpoint; `body` without its closing `signature` member. */
export interface FeedRow {
  id: string;
  eventType: EventType;
  /** When its event happened, Unix milliseconds. */
  happenedAt: number;
  body: string;
}

/** A page of a feed; see {@link StoredPage}. */
export interface FeedPage extends StoredPage {
  rows: FeedRow[];
  /** Whether the cursor is older than `since`, so that deliveries after it were skipped. */
  truncated: boolean;
}

/** A page of an endpoint's feed to read. */
export interface FeedQuery {
  endpointId: string;
  limit: number;
  after: Position | null;
  /** Unix milliseconds: deliveries stored before are no longer in the feed. */
  since: number;
}

/** Deliveries in commit order, to be read instead of received. */
export interface FeedStore {
  /** At most 1 MiB of bodies, but at least one delivery. More can follow an empty page, since the number of rows read is limited. */
  readFeed(tenantId: string, query: FeedQuery): Promise<FeedPage>;
}
