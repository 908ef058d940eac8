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

/** An event, and its outcome for each endpoint. */
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

/** Notices of one tenant, made events. */
export interface NoticeChange {
  tenantId: string;
  ids: number[];
  events: RoutedEvent[];
}

/** What happened to endpoints and deliveries, waiting to be made events with their deliveries. */
export interface NoticeStore {
  /** The oldest first. */
  listNotices(limit: number): Promise<EndpointNotice[]>;
  /** The events in place of the notices, in one commit; false, and nothing, where one of these is gone. */
  commitNotices(change: NoticeChange): Promise<boolean>;
}

/** An endpoint for which events wait to be sent in one message. */
export interface WaitingBatch {
  endpointId: string;
  tenantId: string;
  /** When the oldest of them happened, Unix milliseconds. */
  since: number;
}

/** The oldest events that wait for an endpoint, and the signals that they tell of, each once. */
export interface BatchedSignals {
  /** How many events. */
  events: number;
  /** The newest of them. */
  last: EventRow;
  counts: Record<Classification, number>;
  /** The best of the signals as wire JSON, best first. */
  wires: string[];
}

/** A message made of what was read: it is stored where that still waits, and has not changed. */
export interface BatchChange {
  endpointId: string;
  tenantId: string;
  read: Pick<BatchedSignals, 'events' | 'last' | 'wires'>;
  delivery: NewDelivery;
  now: number;
}

/** What is sent in one message instead of one by one. */
export interface BatchStore {
  /** Every endpoint for which events wait, deleted ones too. */
  listWaitingBatches(): Promise<WaitingBatch[]>;
  /** The oldest `limit` events that wait for an endpoint, with the `best` best signals; null: none waits. */
  readBatch(endpointId: string, limits: { limit: number; best: number }): Promise<BatchedSignals | null>;
  /** The delivery of a message, and that its events wait no more, in one commit; false where they have changed. */
  commitBatch(batch: BatchChange): Promise<boolean>;
  /** Forgets up to `limit` events that wait for an endpoint; how many there were. */
  dropBatched(endpointId: string, limit: number): Promise<number>;
}

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

/** A delivery as the feed of its endpoint has it; `body` without its closing `signature` member. */
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
  /** Whether what stands behind the cursor begins before `since`, so that it was passed by. */
  truncated: boolean;
}

/** Which page of an endpoint's feed. */
export interface FeedQuery {
  endpointId: string;
  limit: number;
  after: Position | null;
  /** Unix milliseconds: what was stored before is not in the feed any more. */
  since: number;
}

/** Deliveries in the order of their commits, to be read instead of received. */
export interface FeedStore {
  /** At most 1 MiB of bodies, but one delivery at least. An empty page may have more behind it: rows looked at are bounded. */
  readFeed(tenantId: string, query: FeedQuery): Promise<FeedPage>;
}
