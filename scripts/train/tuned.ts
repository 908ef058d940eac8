import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WORDING_WEIGHT } from '../../src/signals/judge.ts';
import type { Judged } from './figures.ts';

/** The files that `npm run train:start` writes for tuning, and tuning writes for `npm run train`. */
export const START_FILE = 'start.json';
const TUNED_FILE = 'tuned.json';
/** What `wording.ts` writes: the share of each row by weights that were fitted without its fold. */
export const WORDING_SHARES_FILE = 'wording.json';

/** One question fitted on some rows. */
export interface StartOfPart {
  /** The log-odds of each row by its named features alone. */
  odds: number[];
  /** The weights of the encoder's numbers. */
  head: number[];
  /** The weights of the named features. */
  named: { weights: Record<string, number>; bias: number };
}

export interface Start {
  rows: {
    tokens: number[];
    /** For hot, and for hot or warm. */
    answers: number[];
    counts: number[];
    /** The share of epochs that include it; its weight is increased accordingly. */
    share: number;
    kind: string;
  }[];
  /** The fold of each row, by seed. */
  folds: Record<string, number[]>;
  /** Fitted without a fold; if the seed is null, on all rows. */
  parts: { seed: number | null; fold: number; hot: StartOfPart; warm: StartOfPart }[];
}

interface TunedQuestion extends Pick<StartOfPart, 'head' | 'named'> {
  bias: number;
  /** The encoder's share of the log-odds of each row. */
  shares: number[];
}

/** The tuned encoder's result for every row. */
export interface Tuned {
  /** From the encoder that was tuned on all rows. */
  hot: TunedQuestion;
  warm: TunedQuestion;
  /** For rows of folds that an encoder was not tuned on: the log-odds, and the encoder's share of them. */
  validated: { rows: number[]; odds: Judged; shares: Judged };
}

/**
 * The encoder's results, with the part of the wording's share that counts in the product added to those of rows that neither
 * was fitted on. @throws if the rows differ
 */
export function readTuned(work: string, rows: number): Tuned {
  const read = (name: string) => JSON.parse(readFileSync(join(work, name), 'utf8'));
  const tuned: Tuned = read(TUNED_FILE);
  const wording: Judged = read(WORDING_SHARES_FILE);
  for (const [name, own] of [
    [TUNED_FILE, tuned.hot.shares],
    [WORDING_SHARES_FILE, wording.hot],
  ] as const)
    if (own.length !== rows)
      throw new Error(`${name} is of ${own.length} rows, the folder has ${rows}: write it again.`);
  const { odds, shares } = tuned.validated;
  const added = (own: Judged): Judged => ({
    hot: own.hot.map((each, place) => each + WORDING_WEIGHT * (wording.hot[place] ?? 0)),
    warm: own.warm.map((each, place) => each + WORDING_WEIGHT * (wording.warm[place] ?? 0)),
  });
  return { ...tuned, validated: { ...tuned.validated, odds: added(odds), shares: added(shares) } };
}
