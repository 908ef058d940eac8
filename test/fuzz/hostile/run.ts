import { apiCases } from './api-cases.ts';
import type { HostileCase } from './case.ts';
import { feedCases } from './feed-cases.ts';
import { formCases } from './form-cases.ts';
import { httpCases } from './http-cases.ts';
import { mcpCases } from './mcp-cases.ts';
import { otherCases } from './other-cases.ts';
import { sourceCases } from './source-cases.ts';
import { tenantCases } from './tenant-cases.ts';
import { GIVE_UP_MS, openWorld, type World } from './world.ts';

/** How long another client may wait, whatever anyone sends. */
export const BUDGET_MS = 250;
const MOST_GROWTH_BYTES = 600 * 1024 * 1024;
/** Longer than anyone waits just because the machine is busy. */
const NO_NOISE_MS = 5_000;
const TRIES = 3;

/** The measured effect of one input. */
export interface Measured {
  name: string;
  size: number;
  /** The time until the response. */
  tookMs: number;
  /** The minimum over all tries. */
  longestWaitMs: number;
  grownBytes: number;
  outcome: string;
  /** What is wrong; empty if nothing is. */
  fault: string;
}

/** Returns all cases, surface by surface. */
export function hostileCases(): HostileCase[] {
  return [
    ...httpCases(),
    ...formCases(),
    ...otherCases(),
    ...mcpCases(),
    ...tenantCases(),
    ...feedCases(),
    ...sourceCases(),
    ...apiCases(),
  ];
}

export interface HostileOptions {
  cases: readonly HostileCase[];
  /** Additional variables for the server's environment. */
  env?: NodeJS.ProcessEnv;
  /** Called with each result as it is measured. */
  told?(measured: Measured): void;
}

/** Sends each input to a real server, one after the other, while other clients use it. */
export async function measureHostile({ cases, env = {}, told }: HostileOptions): Promise<Measured[]> {
  const all: Measured[] = [];
  let world: World | null = null;
  try {
    for (const one of cases) {
      let best: Measured | null = null;
      for (let tried = 0; tried < TRIES; tried++) {
        world ??= await openWorld(env);
        const measured = await measure(world, one);
        if (isSpoilt(world, measured)) {
          await world.close();
          world = null;
        }
        best = best === null || measured.longestWaitMs <= best.longestWaitMs ? measured : best;
        if (
          measured.fault === '' ||
          measured.longestWaitMs > NO_NOISE_MS ||
          measured.outcome.startsWith('broken')
        )
          break;
      }
      if (best === null) continue;
      all.push(best);
      told?.(best);
    }
  } finally {
    await world?.close();
  }
  return all;
}

/** A server that hung or ended says nothing about the next input. */
function isSpoilt({ server }: World, { longestWaitMs }: Measured): boolean {
  return server.hasEnded() || longestWaitMs > NO_NOISE_MS;
}

async function measure(world: World, { name, size, run }: HostileCase): Promise<Measured> {
  const before = await world.probe();
  const logged = world.server.output().length;
  const started = performance.now();
  const outcome = await answered(run(world));
  const tookMs = Math.round(performance.now() - started);
  const seen = await world.probe();
  const log = world.server.output().slice(logged);
  const grownBytes = Math.max(0, seen.mostBytes - before.mostBytes);
  const faults = [
    ...(world.server.hasEnded() ? [`the process ended: ${log.slice(-300)}`] : []),
    ...(seen.hung ? ['it hangs'] : []),
    ...(outcome.startsWith('broken') ? [outcome] : []),
    ...(seen.longestMs > BUDGET_MS ? [`others wait ${seen.longestMs} ms for ${seen.longestOf}`] : []),
    ...(grownBytes > MOST_GROWTH_BYTES ? [`it takes ${megabytes(grownBytes)} MB`] : []),
    ...(log.trim() === '' ? [] : [`it is logged as a fault of ours: ${log.slice(0, 300)}`]),
  ];
  return { name, size, tookMs, longestWaitMs: seen.longestMs, grownBytes, outcome, fault: faults.join('; ') };
}

/** The outcome of a case, or that it never finished. */
async function answered(running: Promise<string>): Promise<string> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve('broken: no answer'), 5 * GIVE_UP_MS);
  const outcome = await Promise.race([
    running.catch((error: unknown) => `broken: ${String(error)}`),
    late.promise,
  ]);
  clearTimeout(timer);
  return outcome;
}

const megabytes = (bytes: number) => Math.round(bytes / 1024 / 1024);

/** Formats a row of the table. */
export function describeMeasured({
  name,
  size,
  tookMs,
  longestWaitMs,
  grownBytes,
  outcome,
  fault,
}: Measured): string {
  const cells = [
    String(longestWaitMs).padStart(6),
    String(tookMs).padStart(7),
    String(size).padStart(8),
    String(megabytes(grownBytes)).padStart(5),
    outcome.slice(0, 24).padEnd(24),
    name,
  ];
  return cells.join(' ') + (fault === '' ? '' : `\n       FAILS: ${fault}`);
}

/** The header of the table. */
export const HEAD = '  wait    took     size    MB came of it               input\n    ms      ms    bytes';
