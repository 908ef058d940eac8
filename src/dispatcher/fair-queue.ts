import { createFifo, type Fifo } from '../lib/queues.ts';

/** Who waits for a turn: one of a tenant's endpoints. */
export interface Waiter {
  readonly endpointId: string;
  readonly tenantId: string;
}

/** A queue that is fair twice: tenants take turns, and within a tenant its endpoints do. */
export interface FairQueue<W extends Waiter> {
  /** At the end of its tenant's queue; once, however often it is added. */
  add(waiter: W): void;
  /** Takes out the next in turn; null if none is waiting. */
  next(): W | null;
  /** How many wait. */
  readonly size: number;
}

/**
 * A tenant with a thousand busy endpoints gets no more turns than one with a single endpoint. Both operations take
 * constant time, so that a turn costs the same with one lane and with ten thousand.
 */
export function createFairQueue<W extends Waiter>(): FairQueue<W> {
  const tenants = createFifo<string>();
  const queues = new Map<string, Fifo<W>>();
  const waiting = new Set<W>();
  return {
    get size() {
      return waiting.size;
    },
    add(waiter) {
      if (waiting.has(waiter)) return;
      waiting.add(waiter);
      let queue = queues.get(waiter.tenantId);
      if (queue === undefined) {
        queue = createFifo();
        queues.set(waiter.tenantId, queue);
        tenants.push(waiter.tenantId);
      }
      queue.push(waiter);
    },
    next() {
      const tenantId = tenants.shift();
      if (tenantId === undefined) return null;
      const queue = queues.get(tenantId);
      const waiter = queue?.shift() ?? null;
      if (queue !== undefined && queue.size > 0) tenants.push(tenantId);
      else queues.delete(tenantId);
      if (waiter !== null) waiting.delete(waiter);
      return waiter;
    },
  };
}
