/** Where a page of a list ended: what its last row is in the order of. */
export type Position = (string | number)[];

/** Which page of a list: what follows `after`, `limit` rows at most. */
export interface PageRequest {
  limit: number;
  /** `last` of the page before; null: from the beginning. */
  after: Position | null;
}

/** A page of a list; `last` is the position of its last row, null where nothing follows. */
export interface Page<T> {
  rows: T[];
  last: Position | null;
}

/** A page in the order by commit, which has no end: `next` is there on the last page and on an empty one, too. */
export interface StoredPage {
  /** Rows on it. */
  count: number;
  /** Where to read on: behind the last row that was looked at, whether it fits the filters or not. */
  next: Position;
  /** Whether anything stands behind `next` already. An empty page may have more behind it: rows looked at are bounded. */
  hasMore: boolean;
}
