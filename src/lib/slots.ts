/** Things under numbers that are used again: a table for what comes and goes by the thousand. */
export interface Slots<T> {
  readonly size: number;
  /** Keeps `item`; answers its number. */
  put(item: T): number;
  /** Gives back what has this number, and frees the number; undefined where nothing has it. */
  take(id: number): T | undefined;
  /** Gives back everything. */
  takeAll(): T[];
}

/**
 * Not a `Map`: V8's outgrown tables point to their successors, so that a dead one in the old generation holds on to all
 * after it with everything that they ever held (`dispatcher/deadlines.ts`).
 */
export function createSlots<T>(): Slots<T> {
  const items: (T | undefined)[] = [];
  const free: number[] = [];
  return {
    get size() {
      return items.length - free.length;
    },
    put(item) {
      const id = free.pop() ?? items.length;
      items[id] = item;
      return id;
    },
    take(id) {
      const item = items[id];
      if (item === undefined) return undefined;
      items[id] = undefined;
      free.push(id);
      return item;
    },
    takeAll() {
      const all = items.filter((item) => item !== undefined);
      items.length = 0;
      free.length = 0;
      return all;
    },
  };
}
