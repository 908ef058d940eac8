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

/** The tuned encoder's judgement of every row. */
export interface Tuned {
  /** What the numbers of the encoder that was tuned on all rows weigh, and come to for each row. */
  hot: { head: number[]; bias: number; shares: number[] };
  warm: { head: number[]; bias: number; shares: number[] };
  /** By seed: log-odds of each row, and the encoder's share of them, by an encoder that was tuned without it. */
  validated: Record<string, { odds: Judged; shares: Judged }>;
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
