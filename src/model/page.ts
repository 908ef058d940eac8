/** Where a page of a list ended: what its last row is in the order of. */
export type Position = (string | number)[];

/** Which page of a list: what follows `after`, `limit` rows at most. */
export interface Place {
  limit: number;
  /** `last` of the page before; null: from the beginning. */
  after: Position | null;
}

/** A page of a list; `last` is the position of its last row, null where nothing follows. */
export interface Page<T> {
  rows: T[];
  last: Position | null;
}
