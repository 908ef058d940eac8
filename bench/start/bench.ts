import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, median } from '../report.ts';
import { startServer } from '../site/server.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const MAINS = { ours: join(REPOSITORY, 'dist/main.js'), floor: join(REPOSITORY, 'src/main.ts') };
const ROUNDS = 5;
/** What a start leaves to be collected is collected by then. */
const IDLE_MS = 3_000;
const TICKS_A_SECOND = 100;
const MIB = 2 ** 20;

interface Start {
  ms: number;
  cpuMs: number;
  idleMib: number;
}

/**
 * `dist`, as it is built at that moment, against the TypeScript that `npm start` runs, turn by turn on one data folder, with the encoder:
 * until it listens, and its memory when it has been idle for three seconds. Without a compile cache, and `dist` also with one, as in
 * the image.
 */
export async function benchStart(): Promise<Figure[]> {
  if (!existsSync(MAINS.ours)) throw new Error('There is no dist: npm run build.');
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  try {
    const cache = join(folder, 'compiled');
    await startOnce(MAINS.ours, folder, cache); // the pages' code is coloured at the first start of a folder
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
      figure('ours', 'processor time until then', 'ms', ({ cpuMs }) => cpuMs),
      figure('ours', 'idle memory', 'MiB', ({ idleMib }) => idleMib),
      figure('cached', 'until it listens, compiled before', 'ms', ({ ms }) => ms),
      figure('cached', 'processor time until then, compiled before', 'ms', ({ cpuMs }) => cpuMs),
      figure('cached', 'idle memory, compiled before', 'MiB', ({ idleMib }) => idleMib),
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

/** Of all threads; the fields behind the name, which may hold blanks (man 5 proc). */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_A_SECOND;
}
