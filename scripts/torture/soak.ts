import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sample, slopePerMinute } from './check.ts';
import type { World } from './world.ts';

const EVERY_MS = 2_000;
/** The share of the time in which a server settles after its start or a flood. */
const SETTLES = 0.25;

/** The measured values, each in the unit of its name. */
const FIGURES = ['rss_mib', 'file_descriptors', 'wal_mib', 'loop_delay_p99_ms'] as const;
type Figure = (typeof FIGURES)[number];

export interface Slope {
  figure: Figure;
  mean: number;
  per_minute: number;
}

/** Watches the server under steady load, and returns how much each value grows. */
export async function soak(world: World, seconds: number): Promise<Slope[]> {
  const samples = new Map<Figure, Sample[]>(FIGURES.map((figure) => [figure, []]));
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1_000;
  while (elapsed() < seconds) {
    await sleep(EVERY_MS);
    const at = elapsed();
    if (at < seconds * SETTLES) continue;
    for (const [figure, value] of Object.entries(await look(world)))
      samples.get(figure as Figure)?.push([at, value]);
  }
  return [...samples].map(([figure, all]) => ({
    figure,
    mean: round(all.reduce((sum, [, value]) => sum + value, 0) / Math.max(1, all.length)),
    per_minute: round(slopePerMinute(all)),
  }));
}

async function look({ nodes: [victim], dataDir }: World): Promise<Record<Figure, number>> {
  if (victim === undefined) throw new Error('There is no server.');
  const status = readFileSync(`/proc/${victim.pid}/status`, 'utf8');
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  const metrics = await (await fetch(`${victim.url}/metrics`)).text();
  const [, lag = '0'] = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics) ?? [];
  const wal = statSync(join(dataDir, 'signalpost.db-wal'), { throwIfNoEntry: false })?.size ?? 0;
  return {
    rss_mib: Number(kilobytes) / 1_024,
    file_descriptors: readdirSync(`/proc/${victim.pid}/fd`).length,
    wal_mib: wal / 1_048_576,
    loop_delay_p99_ms: Number(lag) * 1_000,
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
