import { START_FLAGS } from '../../test/support/start-flags.ts';
import { startChild } from '../child.ts';
import { type Figure, median } from '../report.ts';
import type { LanesRound } from './ours.ts';

const ROUNDS = 5;
const BUSY = 100;
const WAITING = 99_900;
const DELIVERIES = 20_000;

/** The cost of a delivery to one of 100 busy endpoints, with and without 99,900 others whose next retry is an hour ahead. */
export async function benchLanes(): Promise<Figure[]> {
  const receiver = await startChild<number[]>(new URL('../dispatch/receiver.ts', import.meta.url));
  const { child } = await startChild(new URL('./ours.ts', import.meta.url), START_FLAGS);
  const urls = Array.from({ length: BUSY }, (_, n) => `http://127.0.0.1:${receiver.ready[n % 50]}/${n}`);
  const round = { urls, deliveries: DELIVERIES };
  try {
    await child.ask({ ...round, waiting: 0 } satisfies LanesRound); // warms up the JIT compiler
    const pairs: { alone: number; beside: number }[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const alone = await child.ask<number>({ ...round, waiting: 0 } satisfies LanesRound);
      pairs.push({
        alone,
        beside: await child.ask<number>({ ...round, waiting: WAITING } satisfies LanesRound),
      });
    }
    return [
      {
        bench: 'lanes',
        variant: `${BUSY} busy endpoints, with ${WAITING} waiting ones`,
        ours: median(pairs.map(({ beside }) => beside)),
        floor: median(pairs.map(({ alone }) => alone)),
        ratio: median(pairs.map(({ alone, beside }) => beside / alone)),
        unit: 'us of CPU time per delivery',
        rounds: ROUNDS,
      },
    ];
  } finally {
    receiver.child.end();
    child.end();
  }
}
