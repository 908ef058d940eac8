import { startChild } from '../child.ts';
import { type Figure, median, percentile } from '../report.ts';
import { type Receivers, type Side, startOurs, startReceivers } from './sides.ts';

const ROUNDS = 5;
const STALLED_TENANTS = 20;
const STALLED_EACH = 10;
const HEALTHY = 10;
const MESSAGES = 200;
const EVERY_MS = 50;
/** Messages of each tenant whose receivers never answer: as many deliveries to an endpoint as may be in flight, and one more. */
const STALLED_MESSAGES = 21;

/**
 * How late deliveries to ten healthy endpoints arrive beside 200 that take the request and never answer, of 20 other
 * tenants. The floor is the same server before the others begin. Each round has a server of its own, since endpoints that
 * fail 20 times in a row are paused.
 */
export async function benchNeighbours(): Promise<Figure[]> {
  const receivers = await startReceivers();
  const holes = await startChild<number[]>(new URL('../flood/black-hole.ts', import.meta.url));
  try {
    const rounds: { quiet: number[]; beside: number[] }[] = [];
    for (let i = 0; i < ROUNDS; i++) rounds.push(await run(receivers, holes.ready[0] ?? 0));
    const of = (pick: (round: { quiet: number[]; beside: number[] }) => number) => median(rounds.map(pick));
    const p95 = (times: readonly number[]) => percentile(times, 0.95);
    return [
      {
        bench: 'neighbours',
        variant: `p95 of ${HEALTHY} endpoints beside ${STALLED_TENANTS * STALLED_EACH} that never answer`,
        ours: of(({ beside }) => p95(beside)),
        floor: of(({ quiet }) => p95(quiet)),
        ratio: of(({ beside, quiet }) => p95(beside) / p95(quiet)),
        unit: 'ms',
        rounds: ROUNDS,
        beside_p50_ms: of(({ beside }) => percentile(beside, 0.5)).toFixed(1),
        beside_p95_ms: of(({ beside }) => p95(beside)).toFixed(1),
        quiet_p50_ms: of(({ quiet }) => percentile(quiet, 0.5)).toFixed(1),
        quiet_p95_ms: of(({ quiet }) => p95(quiet)).toFixed(1),
      },
    ];
  } finally {
    receivers.end();
    holes.child.end();
  }
}

async function run(receivers: Receivers, hole: number) {
  const healthy = receivers.ports.slice(0, HEALTHY).map((port, n) => `http://127.0.0.1:${port}/${n}`);
  const stalled = Array.from({ length: STALLED_TENANTS }, (_, tenant) =>
    Array.from({ length: STALLED_EACH }, (_, n) => `http://127.0.0.1:${hole}/${tenant}/${n}`),
  );
  const side = await startOurs([healthy, ...stalled]);
  try {
    await measure(receivers, side); // until its code is compiled
    const quiet = await measure(receivers, side);
    const others = side.senders.slice(1).map((sender) => sender.burst(STALLED_MESSAGES, 1));
    const beside = await measure(receivers, side);
    await Promise.all(others);
    return { quiet, beside };
  } finally {
    await side.kill();
  }
}

/** Milliseconds of each delivery to the healthy. */
async function measure(receivers: Receivers, { senders: [sender] }: Side): Promise<number[]> {
  const arrived = receivers.arrived(MESSAGES * HEALTHY);
  await sender?.pace(MESSAGES, EVERY_MS);
  return (await arrived).map(({ number, at }) => at - (sender?.sentAt.get(number) ?? Number.NaN));
}
