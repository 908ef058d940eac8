import { startChild } from '../child.ts';
import { type Figure, median } from '../report.ts';
import type { FloorRoute } from './floor.ts';
import { type Load, load } from './load.ts';
import { startServer } from './server.ts';

const ROUNDS = 7;
const ROUND_SECONDS = 2;
const WARM_UP_SECONDS = 2;

interface Target {
  path: string;
  accept?: string;
}

/** `/api/health` as requested by probes: including rate limit, headers and log line. */
export function benchHealth(): Promise<Figure[]> {
  return compare('health', [{ path: '/api/health' }]);
}

/** Pages as requested by visitors and agents: negotiated, with an ETag, logged. */
export function benchPage(): Promise<Figure[]> {
  return compare('page', [{ path: '/pricing' }, { path: '/pricing.md' }]);
}

/** Our server compared with plain Fastify that sends the same bytes, alternating, each in its own process. */
async function compare(bench: string, targets: readonly Target[]): Promise<Figure[]> {
  const ours = await startServer();
  const floor = await startChild<number>(new URL('./floor.ts', import.meta.url));
  try {
    const routes = await Promise.all(targets.map(({ path }) => recordAnswer(ours.url, path)));
    const floorUrl = await floor.child.ask<string>(routes);
    const figures: Figure[] = [];
    for (const { path } of targets) {
      const sides = {
        ours: () => load(`${ours.url}${path}`, ours.pid, ROUND_SECONDS),
        floor: () => load(`${floorUrl}${path}`, floor.ready, ROUND_SECONDS),
      };
      await load(`${ours.url}${path}`, ours.pid, WARM_UP_SECONDS);
      await load(`${floorUrl}${path}`, floor.ready, WARM_UP_SECONDS);
      const rounds: Round[] = [];
      for (let i = 0; i < ROUNDS; i++) rounds.push({ floor: await sides.floor(), ours: await sides.ours() });
      figures.push(toFigure(bench, path, rounds));
    }
    return figures;
  } finally {
    floor.child.end();
    await ours.end();
  }
}

interface Round {
  ours: Load;
  floor: Load;
}

async function recordAnswer(baseUrl: string, path: string): Promise<FloorRoute> {
  const answer = await fetch(`${baseUrl}${path}`);
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return { path, contentType: answer.headers.get('content-type') ?? '', body: await answer.text() };
}

function toFigure(bench: string, variant: string, rounds: readonly Round[]): Figure {
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  const rounded = (value: number) => Math.round(value * 1000) / 1000;
  return {
    bench,
    variant,
    ours: Math.round(of(({ ours }) => ours.perSecond)),
    floor: Math.round(of(({ floor }) => floor.perSecond)),
    ratio: rounded(of(({ ours, floor }) => ours.perSecond / floor.perSecond)),
    unit: 'requests/s',
    rounds: rounds.length,
    // CPU time does not depend on other work of the machine, so this comparison is more stable.
    cpu_ratio: rounded(of(({ ours, floor }) => floor.cpuUs / ours.cpuUs)),
    ours_cpu_us: rounded(of(({ ours }) => ours.cpuUs)),
    floor_cpu_us: rounded(of(({ floor }) => floor.cpuUs)),
    ours_p99_ms: of(({ ours }) => ours.p99Ms),
    floor_p99_ms: of(({ floor }) => floor.p99Ms),
  };
}
