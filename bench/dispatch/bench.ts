import { START_FLAGS } from '../../test/support/start-flags.ts';
import { startChild } from '../child.ts';
import { type Figure, median } from '../report.ts';
import type { Measured, Round } from './setting.ts';

const ROUNDS = 5;
const ENDPOINTS = 50;
const DELIVERIES = 20_000;
/** Concurrent requests on both sides; the dispatcher's own limit. */
const CONCURRENCY = 256;

/**
 * Deliveries per second through the whole dispatcher (FULL durability, claim, sign, send, attempt log, outcome), compared with
 * a bare undici loop that posts the same bodies at the same concurrency, alternating in one run, with receivers in a separate
 * process. Each side also runs in its own process, so that its peak memory can be measured.
 */
export async function benchDispatch(): Promise<Figure[]> {
  const receiver = await startChild<number[]>(new URL('./receiver.ts', import.meta.url));
  const floor = await startChild(new URL('./floor.ts', import.meta.url));
  const ours = await startChild(new URL('./ours.ts', import.meta.url), START_FLAGS);
  try {
    const figures: Figure[] = [];
    for (const [scheme, firstPort] of [
      ['http', 0],
      ['https', ENDPOINTS],
    ] as const) {
      for (const origins of [ENDPOINTS, 1]) {
        const urls = Array.from(
          { length: ENDPOINTS },
          (_, n) => `${scheme}://127.0.0.1:${receiver.ready[firstPort + (n % origins)]}/${n}`,
        );
        const round: Round = { urls, deliveries: DELIVERIES, concurrency: CONCURRENCY };
        const results: { ours: Measured; floor: Measured }[] = [];
        for (let i = 0; i < ROUNDS; i++) {
          const bare = await floor.child.ask<Measured>(round);
          results.push({ floor: bare, ours: await ours.child.ask<Measured>(round) });
        }
        const protocol = scheme === 'http' ? 'HTTP' : 'TLS';
        figures.push(
          toFigure(
            `${ENDPOINTS} endpoints, ${origins} origin${origins === 1 ? '' : 's'}, ${protocol}`,
            results,
          ),
        );
      }
    }
    return figures;
  } finally {
    for (const { child } of [receiver, floor, ours]) child.end();
  }
}

function toFigure(variant: string, results: readonly { ours: Measured; floor: Measured }[]): Figure {
  const of = (pick: (result: { ours: Measured; floor: Measured }) => number) => median(results.map(pick));
  const rounded = (ms: number) => Math.round(ms * 10) / 10;
  return {
    bench: 'dispatch',
    variant,
    ours: Math.round(of((r) => r.ours.perSecond)),
    floor: Math.round(of((r) => r.floor.perSecond)),
    // The median of the ratios of the rounds: the two halves of a round ran under the same conditions.
    ratio: Math.round(of((r) => r.ours.perSecond / r.floor.perSecond) * 1000) / 1000,
    unit: 'deliveries/s',
    rounds: results.length,
    ours_attempt_p50_ms: rounded(of((r) => r.ours.p50Ms)),
    ours_attempt_p99_ms: rounded(of((r) => r.ours.p99Ms)),
    floor_p50_ms: rounded(of((r) => r.floor.p50Ms)),
    floor_p99_ms: rounded(of((r) => r.floor.p99Ms)),
    ours_peak_rss_mib: Math.max(...results.map((r) => r.ours.peakRssMiB)),
    floor_peak_rss_mib: Math.max(...results.map((r) => r.floor.peakRssMiB)),
  };
}
