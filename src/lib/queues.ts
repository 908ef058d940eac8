import pLimit, { type LimitFunction } from 'p-limit';

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

/**
 * A fair queue: owners take turns (round robin), and each owner's items are taken oldest first. An owner without an item
 * or a past turn in this round goes before those that are waiting for another turn, so that it does not wait for one
 * turn of each (RFC 8290, section 4.2).
 */
export interface FairQueue<T> {
  readonly size: number;
  push(owner: string, item: T): void;
  /**
   * Takes the oldest item of the next owner, who then goes last: of those with the lowest rank, if owners have one. Those
   * whose rank is null wait. Undefined if nobody may go.
   */
  next(rankOf?: (owner: string) => number | null): T | undefined;
  /** Whether an owner that is not null in rank has an item. */
  has(rankOf: (owner: string) => number | null): boolean;
  /** Moves an owner behind all other waiting owners. */
  letOthers(owner: string): void;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** Owners that have not had a turn, in order of arrival. */
  const fresh = new Map<string, Fifo<T>>();
  /** The others, in order of turns. Those without an item stay until their turn, so that no owner is new in each round. */
  const waiting = new Map<string, Fifo<T>>();
  let size = 0;

  function best(rankOf?: (owner: string) => number | null): string | undefined {
    let first: { owner: string; rank: number } | null = null;
    for (const owners of [fresh, waiting]) {
      for (const [owner, items] of owners) {
        if (items.size === 0) continue;
        if (rankOf === undefined) return owner;
        const rank = rankOf(owner);
        if (rank !== null && (first === null || rank < first.rank)) first = { owner, rank };
      }
    }
    return first?.owner;
  }

  /** Ends the turns of owners without an item that come before this one. */
  function forgetBefore(next: string): void {
    for (const [owner, items] of waiting) {
      if (owner === next) return;
      if (items.size === 0) waiting.delete(owner);
    }
  }

  return {
    get size() {
      return size;
    },
    push(owner, item) {
      const items = fresh.get(owner) ?? waiting.get(owner) ?? createFifo<T>();
      if (!waiting.has(owner)) fresh.set(owner, items);
      items.push(item);
      size++;
    },
    next(rankOf) {
      const owner = best(rankOf);
      if (owner === undefined) return undefined;
      const items = fresh.get(owner) ?? waiting.get(owner);
      if (!fresh.delete(owner)) forgetBefore(owner);
      waiting.delete(owner);
      const item = items?.shift();
      size--;
      if (size === 0) waiting.clear();
      else if (items !== undefined) waiting.set(owner, items);
      return item;
    },
    has: (rankOf) => best(rankOf) !== undefined,
    letOthers(owner) {
      const items = fresh.get(owner) ?? waiting.get(owner);
      if (items === undefined) return;
      fresh.delete(owner);
      waiting.delete(owner);
      waiting.set(owner, items);
    },
  };
}

/** Runs at most `most` tasks at once; the others wait, and their owners take turns. */
export function createSharedLimit(most: number): <T>(owner: string, work: () => Promise<T>) => Promise<T> {
  const waiting = createFairQueue<() => void>();
  let running = 0;
  return async (owner, work) => {
    if (running < most) running++;
    else await new Promise<void>((resolve) => waiting.push(owner, resolve));
    try {
      return await work();
    } finally {
      // The next one takes its place.
      const next = waiting.next();
      if (next === undefined) running--;
      else next();
    }
  };
}

/** Too many tasks of an owner are waiting for its limit. */
export interface Crowd {
  /** The maximum number of waiting tasks per owner. */
  most: number;
  /** The error for one more. */
  error(): Error;
}

/** Runs at most `most` tasks of each owner at once; the others wait. */
export function createLimits(
  most: number,
  crowd?: Crowd,
): <T>(owner: string, work: () => Promise<T>) => Promise<T> {
  /** Owners with tasks, running or waiting. */
  const owners = new Map<string, { limit: LimitFunction; tasks: number }>();
  return async (owner, work) => {
    const known = owners.get(owner) ?? { limit: pLimit(most), tasks: 0 };
    if (crowd !== undefined && known.tasks >= most + crowd.most) throw crowd.error();
    owners.set(owner, known);
    known.tasks++;
    try {
      return await known.limit(work);
    } finally {
      known.tasks--;
      if (known.tasks === 0) owners.delete(owner);
    }
  };
}
