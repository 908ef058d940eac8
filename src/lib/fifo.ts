/** A queue with constant-time ends; `Array.shift` moves every element of a long array. */
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
