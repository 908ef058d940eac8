/** A queue with constant-time operations at both ends; `Array.shift` moves every element of a long array. */
export interface Fifo<T> {
  readonly size: number;
  push(item: T): void;
  peek(): T | undefined;
  shift(): T | undefined;
  clear(): void;
}

export function createFifo<T>(): Fifo<T> {
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    get size() {
      return items.length - head;
    },
    push(item) {
      items.push(item);
    },
    peek: () => items[head],
    shift() {
      if (head === items.length) return undefined;
      const item = items[head];
      items[head++] = undefined;
      if (head === items.length) {
        items.length = 0;
        head = 0;
      } else if (head > 64 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
    clear() {
      items = [];
      head = 0;
    },
  };
}

/** A fair queue: owners take turns (round robin), and each owner's items are taken oldest first. */
interface FairQueue<T> {
  readonly size: number;
  push(owner: string, item: T): void;
  /**
   * Takes the oldest item of the next owner, who then goes last: of those with the lowest rank, if owners have one.
   * Undefined if the queue is empty.
   */
  next(rankOf?: (owner: string) => number): T | undefined;
  /** Moves an owner behind all other waiting owners. */
  letOthers(owner: string): void;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** In order of turns. */
  const waiting = new Map<string, Fifo<T>>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    push(owner, item) {
      const items = waiting.get(owner) ?? createFifo<T>();
      items.push(item);
      size++;
      waiting.set(owner, items);
    },
    next(rankOf) {
      let best: { owner: string; items: Fifo<T>; rank: number } | null = null;
      for (const [owner, items] of waiting) {
        const rank = rankOf?.(owner) ?? 0;
        if (best === null || rank < best.rank) best = { owner, items, rank };
        if (rankOf === undefined) break;
      }
      if (best === null) return undefined;
      const { owner, items } = best;
      waiting.delete(owner);
      const item = items.shift();
      size--;
      if (items.size > 0) waiting.set(owner, items);
      return item;
    },
    letOthers(owner) {
      const items = waiting.get(owner);
      if (items === undefined) return;
      waiting.delete(owner);
      waiting.set(owner, items);
    },
  };
}
