import type { Clock, Timer } from '../lib/clock.ts';
import { createFifo, type Fifo } from '../lib/queues.ts';

/** Requests in flight to one endpoint (contract, section 5). */
export const IN_FLIGHT_PER_ENDPOINT = 20;
/** Requests in flight over all endpoints, stalled ones included: sockets and memory. */
const MAX_IN_FLIGHT = 4_096;
const GENERATION_MS = 250;

/**
 * What an endpoint's next request counts as: `proven` where its last attempt was answered, be it with a refusal; `first`
 * where none is in flight; `further` where one is on which nothing was heard yet.
 */
export type Health = (typeof HEALTH_LEVELS)[number];
/** Those first whose replies are the likeliest. */
export const HEALTH_LEVELS = ['proven', 'first', 'further'] as const;

/**
 * Requests in flight of each health that are not stalled. More bring nothing: on two cores the rate is the same from 128
 * to 1,024, while a thousand connections at once can overflow a receiver's accept queue (511 in Node), and a dropped SYN
 * comes back a second later. The more there are, the longer a turn of the event loop: with 256 the API's slowest hundredth
 * took 172 ms beside 100,000 due deliveries, with 200 it took 141.
 */
const MAX_BRISK: Record<Health, number> = { proven: 200, first: 128, further: 64 };

/** The slots of all requests in flight. */
export interface Slots {
  /** Takes a slot; the answer is given back to {@link release}. */
  take(health: Health): number;
  release(health: Health, generation: number): void;
  /** True where nothing more of this health may start now; the caller is woken when slots come free by themselves. */
  full(health: Health): boolean;
  /** How many requests an endpoint may have in flight now. */
  perEndpoint(health: Health): number;
  readonly taken: number;
}

/**
 * Endpoints that don't answer take nothing from those that do: each health has slots of its own. And a request that has
 * been in flight for one or two generations while others wait no longer counts as brisk, so that an endpoint that begins to
 * stall loses its hold after half a second at most. Generations pass only while slots are short, so that the count costs
 * nothing otherwise.
 */
export function createSlots(clock: Clock, onFree: () => void): Slots {
  const shares = { proven: newShare(), first: newShare(), further: newShare() };
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

  return {
    get taken() {
      return taken;
    },
    take(health) {
      taken++;
      shares[health].current++;
      return generation;
    },
    release(health, born) {
      taken--;
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
    /**
     * Fewer for those that don't answer when very many are in flight overall, which takes more than a hundred of them: they
     * share three quarters of what there is, and the rest is left for the others.
     */
    perEndpoint(health) {
      if (health === 'proven' || taken < MAX_IN_FLIGHT / 2) return IN_FLIGHT_PER_ENDPOINT;
      return taken < MAX_IN_FLIGHT * 0.75 ? 5 : 1;
    },
  };
}

/** Requests that started in this generation and in the one before it. */
function newShare() {
  return { current: 0, previous: 0 };
}

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
