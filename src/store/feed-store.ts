import type { EventType } from '../model/event.ts';
import type { Position, StoredPage } from '../model/page.ts';

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
