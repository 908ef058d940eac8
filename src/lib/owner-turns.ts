import { createFifo, type Fifo } from './fifo.ts';

/** A queue in which owners take turns, and of one owner the oldest comes first. */
export interface OwnerTurns<T> {
  push(owner: string, item: T): void;
  /** The oldest of the owner whose turn it is, who then is the last to have one; undefined where nothing waits. */
  next(): T | undefined;
  /** What an owner added while something of theirs was under way comes after what others wait for. */
  letOthers(owner: string): void;
}

export function createOwnerTurns<T>(): OwnerTurns<T> {
  /** In the order of their turns. */
  const waiting = new Map<string, Fifo<T>>();
  return {
    push(owner, item) {
      const items = waiting.get(owner) ?? createFifo<T>();
      items.push(item);
      waiting.set(owner, items);
    },
    next() {
      for (const [owner, items] of waiting) {
        waiting.delete(owner);
        const item = items.shift();
        if (items.size > 0) waiting.set(owner, items);
        return item;
      }
      return undefined;
    },
    letOthers(owner) {
      const items = waiting.get(owner);
      if (items === undefined) return;
      waiting.delete(owner);
      waiting.set(owner, items);
    },
  };
}
