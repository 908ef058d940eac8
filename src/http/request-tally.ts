import { createDistribution, type Distribution } from '../lib/distribution.ts';

/** What was answered on one route, with one method and one status. */
export interface RequestSeries {
  /** The route's pattern: never an address, of which there are as many as callers like. */
  route: string;
  method: string;
  status: number;
  /** Seconds from the request's head to the end of its answer. */
  seconds: Distribution;
}

/** Counts answered requests. */
export interface RequestTally {
  count(route: string, method: string, status: number, ms: number): void;
  series(): RequestSeries[];
}

/** What no route took is one series a method and status. */
export const UNMATCHED = 'unmatched';

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Maps in maps, as a key made of all three would have to be put together for each request. */
export function createRequestTally(): RequestTally {
  const all: RequestSeries[] = [];
  const byRoute = new Map<string, Map<string, Map<number, Distribution>>>();

  function open(route: string, method: string, status: number): Distribution {
    const seconds = createDistribution(BOUNDS);
    const byMethod = byRoute.get(route) ?? new Map<string, Map<number, Distribution>>();
    const byStatus = byMethod.get(method) ?? new Map<number, Distribution>();
    byRoute.set(route, byMethod.set(method, byStatus.set(status, seconds)));
    all.push({ route, method, status, seconds });
    return seconds;
  }

  return {
    count(route, method, status, ms) {
      const seconds = byRoute.get(route)?.get(method)?.get(status) ?? open(route, method, status);
      seconds.add(ms / 1_000);
    },
    series: () => all,
  };
}
