import { startChild } from '../child.ts';
import type { BenchDatabase, Cluster } from './cluster.ts';
import type { Replayed, ReplayOrder } from './replay.ts';

/** What is loaded before a program whose statements are written down. */
export const RECORDER = new URL('./record.ts', import.meta.url).href;

/** Statements that were written down, to be sent again by bare `pg`. */
export interface Floor {
  sent: Pick<Replayed, 'transactions' | 'statements'>;
  /** Sends them all to a new copy of the database that they were written down from. */
  replay(): Promise<Replayed>;
  end(): void;
}

export async function startFloor(cluster: Cluster, from: BenchDatabase, file: string): Promise<Floor> {
  const { child } = await startChild(new URL('./replay.ts', import.meta.url));
  const replay = async () => {
    const { url } = await cluster.create(from);
    return child.ask<Replayed>({ file, url } satisfies ReplayOrder);
  };
  // Until its code is compiled.
  const sent = await replay();
  return { sent, replay, end: () => child.end() };
}
