import { START_FLAGS } from '../../test/support/start-flags.ts';
import { startChild } from '../child.ts';
import { type Figure, median } from '../report.ts';
import type { FloorOrder } from './ingest-floor.ts';
import type { Ingested, IngestRound } from './ingest-ours.ts';

const ROUNDS = 5;
const BATCHES = 30;
const BATCH_POSTS = 500;

/**
 * Batches of posts over HTTP, validated, scored, stored and routed, compared with a bare loop that inserts the resulting rows
 * in one transaction per batch, with the same database settings.
 */
export async function benchIngest(): Promise<Figure[]> {
  const floor = await startChild(new URL('./ingest-floor.ts', import.meta.url));
  const ours = await startChild(new URL('./ingest-ours.ts', import.meta.url), START_FLAGS);
  try {
    const figures: Figure[] = [];
    for (const inFlight of [1, 4]) {
      const rounds: { ours: number; floor: number }[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const order: IngestRound = { batches: BATCHES, posts: BATCH_POSTS, inFlight, seed: round };
        const ingested = await ours.child.ask<Ingested>(order);
        const bare: FloorOrder = { file: ingested.file, batchPosts: BATCH_POSTS };
        rounds.push({ ours: ingested.perSecond, floor: await floor.child.ask<number>(bare) });
      }
      figures.push(toFigure(inFlight, rounds));
    }
    return figures;
  } finally {
    ours.child.end();
    floor.child.end();
  }
}

function toFigure(inFlight: number, rounds: readonly { ours: number; floor: number }[]): Figure {
  return {
    bench: 'signals',
    variant: `incoming batches, ${inFlight} in flight`,
    ours: Math.round(median(rounds.map((round) => round.ours))),
    floor: Math.round(median(rounds.map((round) => round.floor))),
    ratio: Number(median(rounds.map((round) => round.ours / round.floor)).toFixed(3)),
    unit: 'signals/s',
    target: 'ratio at least 0.3',
    batch_posts: BATCH_POSTS,
    batches: BATCHES,
  };
}
