import { type Figure, median, percentile } from '../report.ts';
import { printProfiles } from './profile.ts';
import { sharedNow } from './setting.ts';
import { type Receivers, type Side, startFloor, startOurs, startReceivers } from './sides.ts';

const ROUNDS = 5;
const ENDPOINTS = 5;
/** With five endpoints, 100 deliveries per second. */
const EVERY_MS = 50;
const MESSAGES = 200;
const WARM_UP = 2_000;

/**
 * End to end without load: 100 deliveries per second, from before the request is written to arrival at the receiver,
 * alternating with a bare route that stores, signs and posts (floor.ts).
 */
export async function benchLatency(profileDir?: string): Promise<Figure[]> {
  const receivers = await startReceivers();
  const urls = receivers.ports.slice(0, ENDPOINTS).map((port, n) => `http://127.0.0.1:${port}/${n}`);
  const floor = await startFloor(urls);
  const ours = await startOurs([urls], profileDir);
  const profiled = { from: Number.NaN, to: Number.NaN };
  try {
    for (const { senders } of [floor, ours]) {
      const arrived = receivers.arrived(WARM_UP * ENDPOINTS);
      await senders[0]?.burst(WARM_UP, 8);
      await arrived;
    }
    profiled.from = sharedNow();
    const rounds: { ours: number[]; floor: number[] }[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const bare = await run(receivers, floor);
      rounds.push({ floor: bare, ours: await run(receivers, ours) });
    }
    profiled.to = sharedNow();
    return [toFigure('p50', 0.5, rounds), toFigure('p99', 0.99, rounds)];
  } finally {
    receivers.end();
    for (const side of [floor, ours]) await side.end();
    if (profileDir !== undefined) printProfiles(profileDir, profiled);
  }
}

function toFigure(variant: string, share: number, rounds: { ours: number[]; floor: number[] }[]): Figure {
  const of = (pick: (round: { ours: number[]; floor: number[] }) => number) => median(rounds.map(pick));
  return {
    bench: 'latency',
    variant: `request to arrival, ${variant}, 100 deliveries/s to ${ENDPOINTS} endpoints`,
    ours: of(({ ours }) => percentile(ours, share)),
    floor: of(({ floor }) => percentile(floor, share)),
    ratio: of(({ ours, floor }) => percentile(ours, share) / percentile(floor, share)),
    unit: 'ms',
    rounds: rounds.length,
    ours_ms: of(({ ours }) => percentile(ours, share)).toFixed(2),
    floor_ms: of(({ floor }) => percentile(floor, share)).toFixed(2),
  };
}

/** The milliseconds of each delivery. */
async function run(receivers: Receivers, { senders: [sender] }: Side): Promise<number[]> {
  const arrived = receivers.arrived(MESSAGES * ENDPOINTS);
  await sender?.pace(MESSAGES, EVERY_MS);
  return (await arrived).map(({ number, at }) => at - (sender?.sentAt.get(number) ?? Number.NaN));
}
