import { startChild } from '../child.ts';
import type { BenchDatabase, Cluster } from './cluster.ts';
import type { Replayed, ReplayOrder } from './replay.ts';

/** The module to load before a program to record its statements. */
export const RECORDER = new URL('./record.ts', import.meta.url).href;

/** Recorded statements, replayed with bare `pg`. */
export interface Floor {
  sent: Pick<Replayed, 'transactions' | 'statements'>;
  /** Sends all of them to a new copy of the database on which they were recorded. */
  replay(): Promise<Replayed>;
  end(): void;
}

export async function startFloor(cluster: Cluster, from: BenchDatabase, file: string): Promise<Floor> {
  const { child } = await startChild(new URL('./replay.ts', import.meta.url));
  const replay = async () => {
    const { url } = await cluster.create(from);
    return child.ask<Replayed>({ file, url } satisfies ReplayOrder);
  };
  // Warms up the JIT compiler.
  const sent = await replay();
  return { sent, replay, end: () => child.end() };
}
