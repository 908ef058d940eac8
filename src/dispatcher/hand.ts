import { letGo } from '../lib/own-bytes.ts';
import { createFifo } from '../lib/queues.ts';
import type { ClaimedDelivery } from '../model/delivery.ts';

/** What comes into a hand together. */
export interface Dealt {
  deliveries: readonly ClaimedDelivery[];
  /** The memory of their bodies, if it is not shared; null: others may use it. */
  bodies: Uint8Array | null;
}

/** After `until` (monotonic) their lease is too short for another attempt. */
interface Batch extends Dealt {
  next: number;
  until: number;
}

/** Deliveries of one lane that are claimed and not sent yet, in the order in which they came. */
export interface Hand {
  readonly size: number;
  /** Bytes of the largest body of late: of the last claim, or half of what it was before. */
  readonly bodyBytes: number;
  add(dealt: Dealt, until: number): void;
  take(): ClaimedDelivery | null;
  /** Gives back those whose time is over; false where there were none. */
  expire(now: number): boolean;
  /** Gives all back. */
  clear(): void;
}

/** `giveBack` is called for each that was not sent: the next claim may return it, if it is still due. */
export function createHand(giveBack: (deliveryId: string) => void): Hand {
  const batches = createFifo<Batch>();
  let size = 0;
  let bodyBytes = 0;

  function drop({ deliveries, next, bodies }: Batch): void {
    for (const { id } of deliveries.slice(next)) giveBack(id);
    size -= deliveries.length - next;
    // The garbage collector is late with them: they have waited longer than most, outside of the heap that it counts.
    if (bodies !== null) letGo(bodies);
    batches.shift();
  }

  return {
    get size() {
      return size;
    },
    get bodyBytes() {
      return bodyBytes;
    },
    add({ deliveries, bodies }, until) {
      if (deliveries.length === 0) return;
      batches.push({ deliveries, next: 0, until, bodies });
      size += deliveries.length;
      bodyBytes = deliveries.reduce((most, { start, end }) => Math.max(most, end - start), bodyBytes / 2);
    },
    take() {
      for (let batch = batches.peek(); batch !== undefined; batch = batches.peek()) {
        const delivery = batch.deliveries[batch.next];
        if (delivery !== undefined) {
          batch.next++;
          size--;
          return delivery;
        }
        drop(batch);
      }
      return null;
    },
    expire(now) {
      const before = size;
      for (let batch = batches.peek(); batch !== undefined && batch.until < now; batch = batches.peek())
        drop(batch);
      return size < before;
    },
    clear() {
      for (let batch = batches.peek(); batch !== undefined; batch = batches.peek()) drop(batch);
    },
  };
}
