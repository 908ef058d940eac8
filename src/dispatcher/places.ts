import type { Clock, Timer } from '../lib/clock.ts';

/** Requests in flight to one endpoint (contract, section 5). */
export const IN_FLIGHT_PER_ENDPOINT = 20;
/** Requests in flight over all endpoints, stalled ones included: sockets and memory. */
const MAX_IN_FLIGHT = 4_096;
/**
 * Requests in flight that are not stalled. More brings nothing: on two cores the rate is the same from 128 to 1,024,
 * while a thousand connections at once can overflow a receiver's accept queue (511 in Node), and a dropped SYN comes
 * back a second later.
 */
const MAX_BRISK = 256;
const GENERATION_MS = 250;

/** The places of all requests in flight. */
export interface Places {
  /** Takes a place; the answer is given back to {@link release}. */
  take(): number;
  release(generation: number): void;
  /** True where nothing more may start now; the caller is then woken when places come free by themselves. */
  full(): boolean;
  /** How many requests one endpoint may have in flight now. */
  perEndpoint(): number;
  readonly taken: number;
}

/**
 * A request that has been in flight for one or two generations while others wait no longer counts as brisk: stalled
 * receivers thus lose their hold on the places of healthy ones after half a second at most. Generations pass only
 * while places are short, so that the count costs nothing otherwise.
 */
export function createPlaces(clock: Clock, onFree: () => void): Places {
  let taken = 0;
  let generation = 0;
  let current = 0;
  let previous = 0;
  let aging: Timer | null = null;

  function age(): void {
    aging = null;
    generation++;
    previous = current;
    current = 0;
    onFree();
  }

  return {
    get taken() {
      return taken;
    },
    take() {
      taken++;
      current++;
      return generation;
    },
    release(born) {
      taken--;
      if (born === generation) current--;
      else if (born === generation - 1) previous--;
    },
    full() {
      if (taken >= MAX_IN_FLIGHT) return true;
      if (current + previous < MAX_BRISK) return false;
      if (aging === null) aging = clock.after(GENERATION_MS, age);
      return true;
    },
    /**
     * Fewer when very many are in flight overall, which takes more than a hundred stalled endpoints: the stalled then
     * share what there is, and a place is left for the healthy.
     */
    perEndpoint() {
      if (taken < MAX_IN_FLIGHT / 2) return IN_FLIGHT_PER_ENDPOINT;
      return taken < MAX_IN_FLIGHT * 0.75 ? 5 : 1;
    },
  };
}
