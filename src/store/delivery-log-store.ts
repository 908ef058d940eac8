import type { AttemptErrorCode, DeliveryStatus } from '../model/delivery.ts';
import type { EventType } from '../model/event.ts';
import type { Page, PageRequest, Position, StoredPage } from '../model/filters.ts';
import type { SpeedCount } from '../rules/deliveries.ts';

/** A delivery as it is listed. Times are Unix milliseconds. */
export interface DeliverySummary {
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  /** What the event is about: a signal, lead or campaign. */
  subjectId: string;
  /** As it is shown: what waits for a paused endpoint is `held`, what waits for a deleted one `discarded`. */
  status: DeliveryStatus;
  attemptCount: number;
  /** Null where no attempt is planned: it ended, or is held. */
  nextAttemptAt: number | null;
  createdAt: number;
  /** When it leaves, or left, the dead-letter queue. */
  expiresAt: number | null;
}

/** The end of a delivery's last attempt. */
export interface LastAttempt {
  startedAt: number;
  durationMs: number;
  responseStatus: number | null;
  errorCode: AttemptErrorCode | null;
}

/** A delivery of a page. */
export interface ListedDelivery extends DeliverySummary {
  lastAttempt: LastAttempt | null;
}

/** A page in the order by commit; see {@link StoredPage}. */
export interface StoredDeliveryPage extends StoredPage {
  rows: ListedDelivery[];
}

/** Filters and position of a page of deliveries, newest first. `from` <= createdAt < `to`. */
export interface DeliveryQuery extends PageRequest {
  endpointId: string | null;
  status: DeliveryStatus | null;
  eventType: EventType | null;
  eventId: string | null;
  /** What the events are about; left out: anything. */
  subjectId?: string | null;
  from: number | null;
  to: number | null;
}

/** What became of a wish to send a delivery again. */
export type ReplayResult =
  | { outcome: 'replayed'; endpointId: string }
  /** `waiting`: it has not ended yet; `no_body`: what to send is not kept any more; `no_endpoint`: that was deleted; `pull`: that is read. */
  | { outcome: 'absent' | 'waiting' | 'rejected' | 'no_body' | 'no_endpoint' | 'pull' };

/** Deliveries of one endpoint to be sent again, a part at a time. */
export interface ReplayRange {
  tenantId: string;
  endpointId: string;
  status: ReplayableStatus;
  /** Half open, of when the deliveries were made. */
  from: number | null;
  to: number;
  /** Only of events of this type; left out: of any. */
  eventType?: EventType;
  /** Where the part before ended. */
  after: Position | null;
  /** Deliveries to look at in this part. */
  limit: number;
  now: number;
}

/** Deliveries of one endpoint to be sent again, by their ids. */
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

/** Attempts to an endpoint, of one speed. */
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
  /** Wire JSON of the tenant's newest signals, to show what a format makes of them. */
  recentSignals(tenantId: string, limit: number): Promise<string[]>;
  listDeliveries(tenantId: string, query: DeliveryQuery): Promise<Page<ListedDelivery>>;
  /**
   * Deliveries in the order of the commits that made them, oldest first, as `listStoredSignals` has signals; with
   * `status: 'dead'` in the order of those that made them dead.
   */
  listStoredDeliveries(tenantId: string, query: DeliveryQuery): Promise<StoredDeliveryPage>;
  /** How many deliveries wait at an endpoint, counted up to `most`: held, where it is paused. */
  countWaiting(endpointId: string, most: number): Promise<number>;
  /** Makes a delivery that has ended due again, under its own id; its attempts go on counting. */
  replayDelivery(tenantId: string, id: string, now: number): Promise<ReplayResult>;
  /** Makes those due again that can be, each as {@link replayDelivery} does; how many. */
  replayList(list: ReplayList): Promise<number>;
  /** How many of a part were made due, and where the next part begins (null: nothing is left). */
  replayRange(range: ReplayRange): Promise<{ replayed: number; next: Position | null }>;
  /** Moves what was held since `heldBefore` to the dead letters, until `deadUntil`, or discards it; how many. */
  endHeld(chunk: { heldBefore: number; deadUntil: number; limit: number }): Promise<number>;
  /** Takes dead letters whose time is over out of the queue, and their bodies away; how many. */
  expireDead(chunk: Chunk): Promise<number>;
  /** Discards what still waits for deleted endpoints; how many. */
  discardOfDeleted(limit: number): Promise<number>;
  /**
   * How attempts to the tenant's endpoints, or to one of them, went since a time (Unix milliseconds, of which the hour counts),
   * by speed as `rules/latency.ts` counts it. Test deliveries are not among them.
   */
  tallyAttempts(tenantId: string, of: { endpointId: string | null; since: number }): Promise<AttemptTally[]>;
  /** The same of one endpoint by day. */
  tallyAttemptDays(tenantId: string, of: { endpointId: string; since: number }): Promise<AttemptDay[]>;
  /**
   * Of `limit` endpoints behind `after`, by their ids, merges the hours of days that are over, and removes what is older than
   * a month. The last of these ids; null: there are no more.
   */
  tidyAttemptHours(chunk: Chunk & { after: string }): Promise<string | null>;
  /** Removes attempts that started before; how many. */
  pruneAttempts(before: number, limit: number): Promise<number>;
  /** Removes ended deliveries made before, of which no attempt is kept; looks at `limit` of them from `after` on. */
  pruneDeliveries(chunk: {
    tenantId: string;
    before: number;
    after: Position | null;
    limit: number;
  }): Promise<{ removed: number; next: Position | null }>;
  /** Removes endpoints deleted before, of which no delivery is kept; how many. */
  pruneEndpoints(before: number, limit: number): Promise<number>;
  /** A test delivery is about to be sent: it counts for the throttle, over a restart too. */
  recordTestSend(send: { id: string; endpointId: string; startedAt: number }): Promise<void>;
  /** Removes up to `limit` texts of formats that no body ends in any more; how many there were. */
  pruneBodyTails(limit: number): Promise<number>;
  pruneTestSends(before: number): Promise<number>;
}
