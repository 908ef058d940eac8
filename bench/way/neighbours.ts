import { setTimeout as pause } from 'node:timers/promises';
import { startChild } from '../child.ts';
import { type Figure, median, percentile } from '../report.ts';
import { sharedNow } from './setting.ts';
import type { SickPorts } from './sick.ts';
import { type Receivers, type Side, startOurs, startReceivers } from './sides.ts';

const ROUNDS = 5;
const OTHER_TENANTS = 20;
const OTHER_EACH = 10;
const HEALTHY = 10;
/** Messages of the healthy tenant: to warm up the JIT compiler, alone, with the others, and with a flood, which ends first. */
const MESSAGES = { warm: 60, quiet: 100, beside: 160, flood: 50 };
const EVERY_MS = 50;
/** The interval of each other tenant's messages: 400 deliveries per second to the 200, which two slow cores can handle. */
const OTHERS_EVERY_MS = 500;
/** One more than an endpoint's maximum of concurrent deliveries. */
const FLOOD_MESSAGES = 21;

/** How the others send: at a steady rate, or each message after the previous response. */
type Manner = 'steady' | 'flood';

interface Setting {
  receivers: Receivers;
  /** The endpoints of each other tenant. */
  others: string[][];
  manner: Manner;
}

/**
 * The latency of deliveries to ten healthy endpoints, with 200 endpoints of 20 other tenants. The floor is the same server before the
 * others start; for the flood, whose posts alone keep the server busy, it is the same flood to 200 endpoints that respond. Each
 * round has its own server, because endpoints that fail 20 times in a row are paused.
 */
export async function benchNeighbours(): Promise<Figure[]> {
  const [receivers, well] = [await startReceivers(), await startReceivers()];
  const sick = await startChild<SickPorts>(new URL('./sick.ts', import.meta.url));
  const stalled = otherUrls(() => `http://127.0.0.1:${sick.ready.stalled}`);
  const mixed = otherUrls((n) => mixture(sick.ready)[n % 6] ?? '');
  const answering = otherUrls((n) => `http://127.0.0.1:${well.ports[n % well.ports.length]}`);
  const rounds = { stalled: [], mixed: [], floods: [] } as Record<string, Round[]>;
  try {
    for (let i = 0; i < ROUNDS; i++) {
      rounds.stalled?.push(await run({ receivers, others: stalled, manner: 'steady' }));
      rounds.mixed?.push(await run({ receivers, others: mixed, manner: 'steady' }));
      const flooded = await run({ receivers, others: stalled, manner: 'flood' });
      const control = await run({ receivers, others: answering, manner: 'flood' });
      rounds.floods?.push({ quiet: control.beside, beside: flooded.beside });
    }
  } finally {
    for (const child of [receivers, well, sick.child]) child.end();
  }
  const who = `p95 of ${HEALTHY} endpoints with ${OTHER_TENANTS * OTHER_EACH} others`;
  return [
    toFigure(`${who} that never respond`, rounds.stalled),
    toFigure(
      `${who} that stall, reset, respond slowly, fail, have a bad certificate or no address`,
      rounds.mixed,
    ),
    {
      ...toFigure(
        `${who} that never respond, during a flood of their posts (floor: 200 that respond)`,
        rounds.floods,
      ),
      quiet_p95_ms: median((rounds.stalled ?? []).map(({ quiet }) => percentile(quiet, 0.95))).toFixed(1),
    },
  ];
}

/** The address of an endpoint by its number: a sixth of them each. */
function mixture(ports: SickPorts): string[] {
  const { stalled, resetting, slow, failing, untrusted } = ports;
  const plain = [stalled, resetting, slow, failing].map((port) => `http://127.0.0.1:${port}`);
  return [...plain, `https://127.0.0.1:${untrusted}`, 'https://NUMBER.invalid'];
}

function otherUrls(origin: (n: number) => string): string[][] {
  return Array.from({ length: OTHER_TENANTS }, (_, tenant) =>
    Array.from({ length: OTHER_EACH }, (_, n) => {
      const number = tenant * OTHER_EACH + n;
      return `${origin(number).replace('NUMBER', `dead-${number}`)}/${number}`;
    }),
  );
}

interface Round {
  quiet: number[];
  beside: number[];
}

function toFigure(variant: string, rounds: readonly Round[] = []): Figure {
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  const p95 = (times: readonly number[]) => percentile(times, 0.95);
  return {
    bench: 'neighbours',
    variant,
    ours: of(({ beside }) => p95(beside)),
    floor: of(({ quiet }) => p95(quiet)),
    ratio: of(({ beside, quiet }) => p95(beside) / p95(quiet)),
    unit: 'ms',
    rounds: rounds.length,
    beside_p50_ms: of(({ beside }) => percentile(beside, 0.5)).toFixed(1),
    beside_p95_ms: of(({ beside }) => p95(beside)).toFixed(1),
    floor_p50_ms: of(({ quiet }) => percentile(quiet, 0.5)).toFixed(1),
    floor_p95_ms: of(({ quiet }) => p95(quiet)).toFixed(1),
  };
}

async function run({ receivers, others, manner }: Setting): Promise<Round> {
  const healthy = receivers.ports.slice(0, HEALTHY).map((port, n) => `http://127.0.0.1:${port}/${n}`);
  const side = await startOurs([healthy, ...others]);
  const [, ...neighbours] = side.senders;
  try {
    await measure(receivers, side, MESSAGES.warm);
    if (manner === 'flood') {
      const flood = Promise.all(neighbours.map((sender) => sender.burst(FLOOD_MESSAGES, 1))).then(sharedNow);
      const all = await measure(receivers, side, MESSAGES.flood);
      const end = await flood;
      return { quiet: [], beside: latencies(all.filter(({ sentAt }) => sentAt < end)) };
    }
    const quiet = await measure(receivers, side, MESSAGES.quiet);
    const sending = neighbours.map(async (sender, n) => {
      await pause((n * OTHERS_EVERY_MS) / OTHER_TENANTS);
      await sender.pace((MESSAGES.beside * EVERY_MS) / OTHERS_EVERY_MS, OTHERS_EVERY_MS);
    });
    const beside = await measure(receivers, side, MESSAGES.beside);
    await Promise.all(sending);
    return { quiet: latencies(quiet), beside: latencies(beside) };
  } finally {
    await side.kill();
  }
}

interface Delivery {
  sentAt: number;
  arrivedAt: number;
}

/** The milliseconds of each delivery to a healthy endpoint. */
async function measure(
  receivers: Receivers,
  { senders: [sender] }: Side,
  messages: number,
): Promise<Delivery[]> {
  const arrived = receivers.arrived(messages * HEALTHY);
  await sender?.pace(messages, EVERY_MS);
  return (await arrived).map(({ number, at }) => ({
    sentAt: sender?.sentAt.get(number) ?? Number.NaN,
    arrivedAt: at,
  }));
}

function latencies(deliveries: readonly Delivery[]): number[] {
  return deliveries.map(({ sentAt, arrivedAt }) => arrivedAt - sentAt);
}
