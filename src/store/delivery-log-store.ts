import type { AttemptErrorCode, DeliveryStatus } from '../model/delivery.ts';
import type { EventType } from '../model/event.ts';
import type { Page, PageRequest, Position, StoredPage } from '../model/filters.ts';
import type { SpeedCount } from '../rules/deliveries.ts';

/** A delivery in a list. Times are Unix milliseconds. */
export interface DeliverySummary {
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  /** The subject of the event: a signal, lead or campaign. */
  subjectId: string;
  /** The displayed status: pending deliveries of a paused endpoint are `held`, those of a deleted one `discarded`. */
  status: DeliveryStatus;
  attemptCount: number;
  /** Null if no attempt is planned, because it has ended or is held. */
  nextAttemptAt: number | null;
  createdAt: number;
  /** When it leaves or left the dead-letter queue. */
  expiresAt: number | null;
}

/** The result of a delivery's last attempt. */
export interface LastAttempt {
  startedAt: number;
  durationMs: number;
  responseStatus: number | null;
  errorCode: AttemptErrorCode | null;
}

/** A delivery on a page. */
export interface ListedDelivery extends DeliverySummary {
  lastAttempt: LastAttempt | null;
}

/** A page in commit order; see {@link StoredPage}. */
export interface StoredDeliveryPage extends StoredPage {
  rows: ListedDelivery[];
}

/** Filters and position of a page of deliveries, newest first. `from` <= createdAt < `to`. */
export interface DeliveryQuery extends PageRequest {
  endpointId: string | null;
  status: DeliveryStatus | null;
  eventType: EventType | null;
  eventId: string | null;
  /** The subject of the events; omitted: any. */
  subjectId?: string | null;
  from: number | null;
  to: number | null;
}

/** Result of a replay. */
export type ReplayResult =
  | { outcome: 'replayed'; endpointId: string }
  /** `waiting`: it has not ended yet; `no_body`: its body is no longer stored; `no_endpoint`: deleted; `pull`: a pull endpoint. */
  | { outcome: 'absent' | 'waiting' | 'rejected' | 'no_body' | 'no_endpoint' | 'pull' };

/** A range of deliveries of one endpoint to replay, part by part. */
export interface ReplayRange {
  tenantId: string;
  endpointId: string;
  status: ReplayableStatus;
  /** Half-open range of creation times. */
  from: number | null;
  to: number;
  /** Only deliveries of this event type; omitted: any. */
  eventType?: EventType;
  /** Where the previous part ended. */
  after: Position | null;
  /** Number of deliveries to read in this part. */
  limit: number;
  now: number;
}

/** Deliveries of one endpoint to replay, by id. */
export interface ReplayList {
  tenantId: string;
  endpointId: string;
  ids: string[];
  now: number;
}

export type ReplayableStatus = 'delivered' | 'dead' | 'discarded' | 'expired';

/** A housekeeping step changes at most `limit` rows, so that other commits do not wait long. */
export interface Chunk {
  now: number;
  limit: number;
}

/** Number of attempts to an endpoint with one speed. */
export interface AttemptTally extends SpeedCount {
  endpointId: string;
}

/** Attempts of a day (`2026-01-31`, UTC). */
export interface AttemptDay {
  day: string;
  succeeded: number;
  failed: number;
}

/** Delivery logs, replay, expiry and retention. */
export interface DeliveryLogStore {
  /** Wire JSON of the tenant's newest signals, for previews of a format. */
  recentSignals(tenantId: string, limit: number): Promise<string[]>;
  listDeliveries(tenantId: string, query: DeliveryQuery): Promise<Page<ListedDelivery>>;
  /**
   * Deliveries in the order of the commits that created them, oldest first, like `listStoredSignals`; with `status: 'dead'` in
   * the order of the commits that moved them to the dead-letter queue.
   */
  listStoredDeliveries(tenantId: string, query: DeliveryQuery): Promise<StoredDeliveryPage>;
  /** Number of pending deliveries of an endpoint, counted up to `most`; they are held if it is paused. */
  countWaiting(endpointId: string, most: number): Promise<number>;
  /** Makes a finished delivery due again with the same id; attempt numbers continue. */
  replayDelivery(tenantId: string, id: string, now: number): Promise<ReplayResult>;
  /** Replays those that can be replayed, like {@link replayDelivery}; returns their number. */
  replayList(list: ReplayList): Promise<number>;
  /** Replays a part; returns how many were made due, and where the next part starts (null: nothing is left). */
  replayRange(range: ReplayRange): Promise<{ replayed: number; next: Position | null }>;
  /** Moves deliveries held since `heldBefore` to the dead-letter queue until `deadUntil`, or discards them; returns their number. */
  endHeld(chunk: { heldBefore: number; deadUntil: number; limit: number }): Promise<number>;
  /** Expires dead letters and deletes their bodies; returns their number, less than `limit` if their bodies are long. */
  expireDead(chunk: Chunk): Promise<number>;
  /** Discards pending deliveries of deleted endpoints; returns their number. */
  discardOfDeleted(limit: number): Promise<number>;
  /**
   * Attempts to an endpoint since the hour of a time (Unix milliseconds), by speed (`rules/deliveries.ts`). Test deliveries
   * are not included.
   */
  tallyAttempts(tenantId: string, of: { endpointId: string; since: number }): Promise<AttemptTally[]>;
  /** The same by day. */
  tallyAttemptDays(tenantId: string, of: { endpointId: string; since: number }): Promise<AttemptDay[]>;
  /**
   * For `limit` endpoints after `after`, by id, merges the hours of past days and deletes what is older than a month. Returns
   * the last of these ids; null: there are no more.
   */
  tidyAttemptHours(chunk: Chunk & { after: string }): Promise<string | null>;
  /** Deletes up to `limit` attempts that started before; returns their number. */
  pruneAttempts(before: number, limit: number): Promise<number>;
  /**
   * Deletes finished deliveries created before that have no attempts left; reads `limit` of them after `after`, fewer if their bodies
   * are long.
   */
  pruneDeliveries(chunk: {
    tenantId: string;
    before: number;
    after: Position | null;
    limit: number;
  }): Promise<{ removed: number; next: Position | null }>;
  /** Removes endpoints deleted before that have no deliveries left; returns their number. Fewer than `limit` if their settings are long. */
  pruneEndpoints(before: number, limit: number): Promise<number>;
  /** Records a test delivery before it is sent: it counts towards the rate limit, even after a restart. */
  recordTestSend(send: { id: string; endpointId: string; startedAt: number }): Promise<void>;
  /** Deletes up to `limit` tails of formats that no body uses, fewer if they are long; returns their number. */
  pruneBodyTails(limit: number): Promise<number>;
  pruneTestSends(before: number): Promise<number>;
}
