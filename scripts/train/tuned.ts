import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Judged } from './figures.ts';

/** What `npm run train:start` leaves for tuning, and what tuning leaves for `npm run train`. */
export const START_FILE = 'start.json';
const TUNED_FILE = 'tuned.json';

/** One question fitted on some rows. */
export interface StartOfPart {
  /** Of each row, by its named features alone. */
  odds: number[];
  /** What the encoder's numbers weigh. */
  head: number[];
  /** What the named features weigh. */
  named: { weights: Record<string, number>; bias: number };
}

export interface Start {
  rows: {
    tokens: number[];
    /** Of hot, of hot or warm. */
    answers: number[];
    counts: number[];
    /** How many passes of the encoder's training read it; it counts the more then. */
    share: number;
    kind: string;
  }[];
  /** By seed: each row's fold. */
  folds: Record<string, number[]>;
  /** Fitted without a fold; seed null: on all rows. */
  parts: { seed: number | null; fold: number; hot: StartOfPart; warm: StartOfPart }[];
}

interface TunedQuestion extends Pick<StartOfPart, 'head' | 'named'> {
  bias: number;
  /** What the numbers come to for each row. */
  shares: number[];
}

/** The tuned encoder's judgement of every row. */
export interface Tuned {
  /** By the encoder that was tuned on all rows. */
  hot: TunedQuestion;
  warm: TunedQuestion;
  /** Log-odds, and the encoder's share of them, of the rows of those folds that an encoder was tuned without. */
  validated: { rows: number[]; odds: Judged; shares: Judged };
}

/** @throws where the rows were others */
export function readTuned(work: string, rows: number): Tuned {
  const tuned: Tuned = JSON.parse(readFileSync(join(work, TUNED_FILE), 'utf8'));
  if (tuned.hot.shares.length !== rows)
    throw new Error(
      `${TUNED_FILE} is of ${tuned.hot.shares.length} rows, the folder has ${rows}: tune again.`,
    );
  return tuned;
}
