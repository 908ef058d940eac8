import type { Clock, Timer } from '../lib/clock.ts';
import { createFifo, type Fifo } from '../lib/queues.ts';

/** Maximum number of requests in flight per endpoint (contract, section 5). */
export const IN_FLIGHT_PER_ENDPOINT = 20;
/**
 * Maximum number of requests in flight to all endpoints, including stalled ones; limits sockets and memory.
 */
const MAX_IN_FLIGHT = 4_096;
const GENERATION_MS = 250;

/**
 * The health of an endpoint, for its next request: `proven` if the last attempt was answered, even with an
 * error; `first` if no request is in flight; `further` if one is in flight and unanswered.
 */
export type Health = (typeof HEALTH_LEVELS)[number];
/** The most likely to respond first. */
export const HEALTH_LEVELS = ['proven', 'first', 'further'] as const;

/**
 * Maximum number of requests in flight by health, without stalled ones. More do not help: on two cores, the
 * rate is the same from 128 to 1,024, while a thousand simultaneous connections can overflow a receiver's
 * accept queue (511 in Node), and a dropped SYN is repeated a second later. More also lengthen a turn of the
 * event loop: next to 100,000 due deliveries, the API's p99 was 172 ms with 256, and 141 ms with 200.
 */
const MAX_BRISK: Record<Health, number> = { proven: 200, first: 128, further: 64 };

/** The slots of all requests in flight. */
export interface Slots {
  /** Takes a slot, for null outside the shares; returns the generation to pass to {@link release}. */
  take(health: Health | null, tenantId: string): number;
  release(health: Health | null, tenantId: string, generation: number): void;
  /**
   * Whether no further request of this health may start now; the caller is woken when slots are freed by
   * ageing.
   */
  full(health: Health): boolean;
  /** Whether more slots are free than the tenant has: only then may it take another. */
  hasRoomFor(tenantId: string): boolean;
  /** Maximum number of requests in flight to one endpoint of the tenant, for now. */
  perEndpoint(health: Health, tenantId: string): number;
  readonly taken: number;
}

/**
 * Endpoints that do not respond take nothing from those that do: each health has its own slots. In addition,
 * a request that has been in flight for one or two generations while others wait no longer counts, so an
 * endpoint that starts to stall loses its share within half a second. Generations only advance while slots
 * are short, so counting is free otherwise.
 *
 * A tenant takes no more than half of what the others leave: five thousand unresponsive endpoints of one tenant took all
 * slots, and deliveries of others waited for 12 s until the first of these requests timed out.
 */
export function createSlots(clock: Clock, onFree: () => void): Slots {
  const shares = { proven: newShare(), first: newShare(), further: newShare() };
  /** Slots taken by each tenant. */
  const byTenant = new Map<string, number>();
  let taken = 0;
  let generation = 0;
  let aging: Timer | null = null;

  function age(): void {
    aging = null;
    generation++;
    for (const health of HEALTH_LEVELS) {
      const share = shares[health];
      share.previous = share.current;
      share.current = 0;
    }
    onFree();
  }

  const takenBy = (tenantId: string) => byTenant.get(tenantId) ?? 0;

  return {
    get taken() {
      return taken;
    },
    take(health, tenantId) {
      taken++;
      byTenant.set(tenantId, takenBy(tenantId) + 1);
      if (health !== null) shares[health].current++;
      return generation;
    },
    release(health, tenantId, born) {
      taken--;
      const left = takenBy(tenantId) - 1;
      if (left > 0) byTenant.set(tenantId, left);
      else byTenant.delete(tenantId);
      if (health === null) return;
      if (born === generation) shares[health].current--;
      else if (born === generation - 1) shares[health].previous--;
    },
    full(health) {
      if (taken >= MAX_IN_FLIGHT) return true;
      const { current, previous } = shares[health];
      if (current + previous < MAX_BRISK[health]) return false;
      if (aging === null) aging = clock.after(GENERATION_MS, age);
      return true;
    },
    hasRoomFor: (tenantId) => takenBy(tenantId) < MAX_IN_FLIGHT - taken,
    /**
     * Lower for endpoints that do not respond while very many requests are in flight, which takes dozens of such
     * endpoints: they share three quarters of all slots, or of the tenant's, and the rest is left to the others.
     */
    perEndpoint(health, tenantId) {
      if (health === 'proven') return IN_FLIGHT_PER_ENDPOINT;
      const own = takenBy(tenantId);
      const used = Math.max(taken / MAX_IN_FLIGHT, (2 * own) / (own + MAX_IN_FLIGHT - taken));
      if (used < 0.5) return IN_FLIGHT_PER_ENDPOINT;
      return used < 0.75 ? 5 : 1;
    },
  };
}

/** Number of requests that started in this generation and in the previous one. */
function newShare() {
  return { current: 0, previous: 0 };
}

/** An endpoint of a tenant that waits for its turn. */
export interface Waiter {
  readonly endpointId: string;
  readonly tenantId: string;
}

/** A queue with two levels of fairness: tenants take turns, and within a tenant, its endpoints do. */
export interface FairQueue<W extends Waiter> {
  /** Appends to the queue of its tenant; a waiter is queued once, however often it is added. */
  add(waiter: W): void;
  /** Takes the next waiter of a tenant that may go; null if none is waiting. */
  next(mayGo?: (tenantId: string) => boolean): W | null;
  /** Number of waiters. */
  readonly size: number;
}

/**
 * A tenant with a thousand busy endpoints gets no more turns than one with a single endpoint. Both operations
 * take constant time, so that a turn costs the same with one lane and with ten thousand.
 */
export function createFairQueue<W extends Waiter>(): FairQueue<W> {
  const tenants = createFifo<string>();
  const queues = new Map<string, Fifo<W>>();
  const waiting = new Set<W>();

  function nextTenant(mayGo: (tenantId: string) => boolean): string | undefined {
    for (let left = tenants.size; left > 0; left--) {
      const tenantId = tenants.shift();
      if (tenantId === undefined || mayGo(tenantId)) return tenantId;
      tenants.push(tenantId);
    }
    return undefined;
  }

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
    next(mayGo = () => true) {
      const tenantId = nextTenant(mayGo);
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
