import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, median } from '../report.ts';
import { startServer } from '../site/server.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const MAINS = { ours: join(REPOSITORY, 'dist/main.js'), floor: join(REPOSITORY, 'src/main.ts') };
const ROUNDS = 5;
/** By then, garbage from the start has been collected. */
const IDLE_MS = 3_000;
const TICKS_A_SECOND = 100;
const MIB = 2 ** 20;

interface Start {
  ms: number;
  cpuMs: number;
  idleMib: number;
}

/**
 * The current build in `dist`, compared with the TypeScript that `npm start` runs, alternating on one data folder, with the encoder: the time
 * until it listens, and its memory after three idle seconds. Without a compile cache; `dist` also with one, as in
 * the image.
 */
export async function benchStart(): Promise<Figure[]> {
  if (!existsSync(MAINS.ours)) throw new Error('There is no dist: npm run build.');
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  try {
    const cache = join(folder, 'compiled');
    await startOnce(MAINS.ours, folder, cache); // the first start on a folder highlights the code samples of pages
    const rounds: { ours: Start; cached: Start; floor: Start }[] = [];
    while (rounds.length < ROUNDS) {
      const floor = await startOnce(MAINS.floor, folder);
      const ours = await startOnce(MAINS.ours, folder);
      rounds.push({ ours, cached: await startOnce(MAINS.ours, folder, cache), floor });
    }
    const figure = (side: 'ours' | 'cached', variant: string, unit: string, of: (start: Start) => number) => {
      const [ours, floor] = [
        median(rounds.map((one) => of(one[side]))),
        median(rounds.map((one) => of(one.floor))),
      ];
      return { bench: 'start', variant, ours, floor, ratio: ours / floor, unit };
    };
    return [
      figure('ours', 'until it listens', 'ms', ({ ms }) => ms),
      figure('ours', 'CPU time until then', 'ms', ({ cpuMs }) => cpuMs),
      figure('ours', 'idle memory', 'MiB', ({ idleMib }) => idleMib),
      figure('cached', 'until it listens, with compile cache', 'ms', ({ ms }) => ms),
      figure('cached', 'CPU time until then, with compile cache', 'ms', ({ cpuMs }) => cpuMs),
      figure('cached', 'idle memory, with compile cache', 'MiB', ({ idleMib }) => idleMib),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startOnce(main: string, folder: string, cache?: string): Promise<Start> {
  const began = performance.now();
  const server = await startServer(
    { DATA_DIR: folder, SIGNAL_ENCODER: 'auto', ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }) },
    main,
  );
  const ms = performance.now() - began;
  const cpuMs = processorMs(server.pid);
  await sleep(IDLE_MS);
  const [, kilobytes = '0'] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? [];
  await server.end();
  return { ms, cpuMs, idleMib: (Number(kilobytes) * 1_024) / MIB };
}

/** Of all threads; reads the fields after the name, which may contain spaces (man 5 proc). */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_A_SECOND;
}
