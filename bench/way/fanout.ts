import { setTimeout as pause } from 'node:timers/promises';
import { type Figure, median } from '../report.ts';
import { printProfiles } from './profile.ts';
import { memoryMiB, processorMs } from './sending.ts';
import { sharedNow } from './setting.ts';
import { type Receivers, type Side, startFloor, startOurs, startReceivers } from './sides.ts';

const ROUNDS = 5;
/** Concurrent messages on both sides. */
const IN_FLIGHT = 8;
/** Time for outcomes that are not on disk yet when the last delivery has arrived. */
const SETTLE_MS = 500;
const SHAPES = [
  { endpoints: 50, messages: 400 },
  { endpoints: 5, messages: 4_000 },
];

interface Measured {
  perSecond: number;
  processorUs: number;
}

/**
 * End to end under load: messages over HTTP, each stored durably and sent to every endpoint, until the last one has arrived;
 * alternating with a bare route that stores, signs and posts (floor.ts).
 */
export async function benchFanout(profileDir?: string): Promise<Figure[]> {
  const receivers = await startReceivers();
  try {
    const figures: Figure[] = [];
    for (const shape of SHAPES) figures.push(await measureShape(receivers, shape, profileDir));
    return figures;
  } finally {
    receivers.end();
  }
}

async function measureShape(
  receivers: Receivers,
  shape: (typeof SHAPES)[number],
  profileDir: string | undefined,
): Promise<Figure> {
  const urls = receivers.ports.slice(0, shape.endpoints).map((port, n) => `http://127.0.0.1:${port}/${n}`);
  const floor = await startFloor(urls);
  const ours = await startOurs([urls], profileDir);
  const profiled = { from: Number.NaN, to: Number.NaN };
  try {
    for (const side of [floor, ours]) await run(receivers, side, shape); // warms up the JIT compiler
    profiled.from = sharedNow();
    const rounds: { ours: Measured; floor: Measured }[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const bare = await run(receivers, floor, shape);
      rounds.push({ floor: bare, ours: await run(receivers, ours, shape) });
    }
    profiled.to = sharedNow();
    const of = (pick: (round: { ours: Measured; floor: Measured }) => number) => median(rounds.map(pick));
    return {
      bench: 'fanout',
      variant: `${shape.messages} messages to ${shape.endpoints} endpoints`,
      ours: Math.round(of((round) => round.ours.perSecond)),
      floor: Math.round(of((round) => round.floor.perSecond)),
      ratio: of((round) => round.ours.perSecond / round.floor.perSecond),
      unit: 'deliveries/s',
      rounds: ROUNDS,
      ours_processor_us: Math.round(of((round) => round.ours.processorUs)),
      floor_processor_us: Math.round(of((round) => round.floor.processorUs)),
      processor_ratio: of((round) => round.ours.processorUs / round.floor.processorUs).toFixed(2),
      ours_memory_mib: memoryMiB(ours.pid),
      floor_memory_mib: memoryMiB(floor.pid),
    };
  } finally {
    for (const side of [floor, ours]) await side.end();
    if (profileDir !== undefined) printProfiles(profileDir, profiled);
  }
}

async function run(
  receivers: Receivers,
  { pid, senders }: Side,
  { endpoints, messages }: (typeof SHAPES)[number],
): Promise<Measured> {
  const deliveries = endpoints * messages;
  const arrived = receivers.arrived(deliveries);
  const processorBefore = processorMs(pid);
  const started = sharedNow();
  await senders[0]?.burst(messages, IN_FLIGHT);
  const last = (await arrived).at(-1)?.at ?? Number.NaN;
  await pause(SETTLE_MS);
  return {
    perSecond: deliveries / ((last - started) / 1_000),
    processorUs: ((processorMs(pid) - processorBefore) * 1_000) / deliveries,
  };
}
