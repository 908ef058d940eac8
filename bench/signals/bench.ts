import { START_FLAGS } from '../../test/support/start-flags.ts';
import { startChild } from '../child.ts';
import { type Figure, median } from '../report.ts';
import { type BenchData, prepareData, SIGNALS, TENANTS } from './data.ts';
import { filterQueries } from './filters.ts';
import { benchIngest } from './ingest.ts';
import { createLoadClient, type LoadClient, type Loaded, timeInTurns } from './load-client.ts';
import type { PageMade } from './page-made.ts';
import type { Order } from './server.ts';

const CONNECTIONS = 8;
const LOAD_ROUNDS = 7;
const LOAD_SECONDS = 2;
const TURNS = 150;
const PAGE = '/v1/signals?limit=50';

/**
 * Lists of a million signals of ten tenants, over HTTP, with key, rate limit and a log line each: compared with the
 * same page through the zod serializer, at any depth, and with each documented filter; and incoming batches.
 */
export async function benchSignals(): Promise<Figure[]> {
  const data = await prepareData();
  const { child } = await startChild(new URL('./server.ts', import.meta.url), START_FLAGS);
  const ask = (order: Order) => child.ask<string>(order);
  const url = await ask({ open: data.dataDir });
  const client = createLoadClient(url, data.apiKey, CONNECTIONS);
  try {
    await client.load(PAGE, { connections: 1, seconds: 2 });
    return [
      toFigure(await child.ask<PageMade>({ make: data.tenantId } satisfies Order)),
      await benchPage(client, data.apiKey),
      ...(await benchDepth(client, data, ask)),
      ...(await benchFilters(client, data)),
      ...(await benchIngest()),
    ];
  } finally {
    await client.close();
    child.end();
  }
}

function toFigure({ oursUs, floorUs, ratio }: PageMade): Figure {
  return {
    bench: 'signals',
    variant: 'page of 50 made, against the zod serializer',
    ours: Math.round(1_000_000 / oursUs),
    floor: Math.round(1_000_000 / floorUs),
    ratio: rounded(ratio, 3),
    unit: 'pages/s',
    target: 'ratio at least 3.3',
    ours_us: rounded(oursUs, 1),
    floor_us: rounded(floorUs, 1),
  };
}

/** Compared with the zod serializer and, for the slowest responses, with a server that only sends the same bytes. */
async function benchPage(client: LoadClient, apiKey: string): Promise<Figure> {
  await refuseDifference(client);
  const { child } = await startChild(new URL('./bare.ts', import.meta.url));
  const bareClient = createLoadClient(await child.ask<string>(await client.ask(PAGE)), apiKey, CONNECTIONS);
  try {
    return await timePages(client, bareClient);
  } finally {
    await bareClient.close();
    child.end();
  }
}

async function timePages(client: LoadClient, bareClient: LoadClient): Promise<Figure> {
  const load = { connections: CONNECTIONS, seconds: LOAD_SECONDS };
  const rounds: { ours: Loaded; floor: Loaded; bare: Loaded }[] = [];
  for (let i = 0; i < LOAD_ROUNDS; i++) {
    rounds.push({
      floor: await client.load(PAGE.replace('/v1', '/zod'), load),
      ours: await client.load(PAGE, load),
      bare: await bareClient.load(PAGE, load),
    });
  }
  const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick));
  return {
    bench: 'signals',
    variant: 'page of 50 over HTTP, against the zod serializer',
    ours: Math.round(of(({ ours }) => ours.perSecond)),
    floor: Math.round(of(({ floor }) => floor.perSecond)),
    ratio: rounded(
      of(({ ours, floor }) => ours.perSecond / floor.perSecond),
      3,
    ),
    unit: 'pages/s',
    connections: CONNECTIONS,
    ours_p50_ms: rounded(
      of(({ ours }) => ours.p50Ms),
      2,
    ),
    ours_p99_ms: rounded(
      of(({ ours }) => ours.p99Ms),
      2,
    ),
    floor_p99_ms: rounded(
      of(({ floor }) => floor.p99Ms),
      2,
    ),
    bare_p99_ms: rounded(
      of(({ bare }) => bare.p99Ms),
      2,
    ),
    bare_per_second: Math.round(of(({ bare }) => bare.perSecond)),
    target_p99: 'at most 4 ms on an idle machine',
    signals: SIGNALS,
    tenants: TENANTS,
  };
}

/** Both sides must return the same rows. */
async function refuseDifference(client: LoadClient): Promise<void> {
  const [ours, floor] = await Promise.all([client.ask(PAGE), client.ask(PAGE.replace('/v1', '/zod'))]);
  const rows = (text: string) => JSON.stringify(JSON.parse(text).data);
  if (rows(ours) !== rows(floor)) throw new Error('the two sides return different rows');
  if (JSON.parse(ours).data.length !== 50) throw new Error('the page is not full');
}

async function benchDepth(
  client: LoadClient,
  data: BenchData,
  ask: (order: Order) => Promise<string>,
): Promise<Figure[]> {
  const ofTenant = SIGNALS / TENANTS;
  const pages = new Map([['first', PAGE]]);
  for (const percent of [10, 50, 90, 99]) {
    const cursor = await ask({ cursorAt: Math.floor((ofTenant * percent) / 100), tenantId: data.tenantId });
    pages.set(`${percent} % deep`, `${PAGE}&cursor=${cursor}`);
  }
  const times = await timeInTurns(client, pages, TURNS);
  return compareWith('first', times, { what: 'page', most: 1.5 });
}

async function benchFilters(client: LoadClient, data: BenchData): Promise<Figure[]> {
  const pages = new Map([['unfiltered', PAGE], ...filterQueries(data)]);
  const found = new Map<string, number>();
  for (const [name, path] of pages) found.set(name, JSON.parse(await client.ask(path)).data.length);
  const times = await timeInTurns(client, pages, TURNS);
  const figures = compareWith('unfiltered', times, { what: 'filter', most: 3 });
  return figures.map((figure) => ({
    ...figure,
    rows: found.get(figure.variant.replace('filter: ', '')) ?? 0,
  }));
}

/** Times, so less is better: `floor` is the reference page, and the ratio must not exceed `most`. */
function compareWith(
  base: string,
  times: ReadonlyMap<string, number>,
  { what, most }: { what: string; most: number },
): Figure[] {
  const floor = times.get(base) ?? Number.NaN;
  return [...times]
    .filter(([name]) => name !== base)
    .map(([name, ms]) => ({
      bench: 'signals',
      variant: `${what}: ${name}`,
      ours: rounded(ms, 3),
      floor: rounded(floor, 3),
      ratio: rounded(ms / floor, 3),
      unit: 'ms',
      target: `ratio at most ${most}`,
    }));
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
