import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPost } from '../../src/signals/score.ts';
import { placesOf, WORDING_FILE, WORDING_PLACES } from '../../src/signals/wording.ts';
import { loadProfiles } from './data.ts';
import { loadAll } from './examples.ts';
import { fitLogistic, type SparseRow } from './logistic.ts';
import { type Row, readRows } from './rows.ts';
import { FOLDS, QUESTIONS, type Question, SETTINGS, TUNED_SEEDS } from './settings.ts';
import { WORDING_SHARES_FILE } from './tuned.ts';
import { answerOf, countOf, foldsOf } from './validate.ts';
import { bytesOf } from './wording-file.ts';

/**
 * Fits `wording.bin` on all rows, and writes the share of each row from weights fitted without its fold. The folds are those of
 * the encoder.
 */
const PENALTY = 2;
/** Length of a row's vector. It keeps weights about as large as those of named features. */
const SCALE = 4;
const NO_FACTS = { title: '', companyName: '', industry: '', headcount: '', location: '' };

/** The log-odds by named features, a bias, and the places of a post. */
function rowsFor(rows: readonly Row[], question: Question): SparseRow[] {
  return rows.map(({ example: { text } }) => {
    const { tokens, wordsOdds } = readPost({ ...NO_FACTS, text });
    const places = [...placesOf(tokens.stems)];
    const each = SCALE / Math.sqrt(Math.max(1, places.length));
    return {
      places: Int32Array.from([...places, WORDING_PLACES]),
      values: Float64Array.from([...places.map(() => each), wordsOdds[question]]),
    };
  });
}

function fitOn(
  rows: readonly Row[],
  sparse: readonly SparseRow[],
  { question, kept }: { question: Question; kept: readonly number[] },
): Float64Array {
  const penalties = new Float64Array(WORDING_PLACES + 1).fill(PENALTY);
  penalties[WORDING_PLACES] = 0; // the log-odds by named features are not shrunk
  return fitLogistic({
    rows: kept.map((place) => sparse[place] as SparseRow),
    answers: kept.map((place) => answerOf(rows[place] as Row, question)),
    counts: kept.map((place) => countOf(rows[place] as Row, question, SETTINGS[question])),
    penalties,
  });
}

/** The share of the places alone, for a centre of 0. */
function shareOf(weights: Float64Array, { places, values }: SparseRow): number {
  let sum = 0;
  for (let i = 0; i < places.length - 1; i++) sum += (weights[places[i] ?? 0] ?? 0) * (values[i] ?? 0);
  return sum;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const [folder, work] = process.argv.slice(2);
if (folder === undefined || work === undefined) {
  console.error('Usage: node scripts/train/wording.ts FOLDER WORK   (see scripts/train/README.md)');
  process.exit(64);
}
const rows = readRows(loadAll(folder), loadProfiles(folder));
const [seed] = TUNED_SEEDS;
const folds = foldsOf(rows, seed);
const everything = [...rows.keys()];
const fitted = QUESTIONS.map((question) => {
  const sparse = rowsFor(rows, question);
  const shares = new Array<number>(rows.length).fill(0);
  for (let fold = 0; fold < FOLDS; fold++) {
    const kept = everything.filter((place) => folds[place] !== fold);
    const weights = fitOn(rows, sparse, { question, kept });
    const centre = mean(kept.map((place) => shareOf(weights, sparse[place] as SparseRow)));
    for (const place of everything)
      if (folds[place] === fold) shares[place] = shareOf(weights, sparse[place] as SparseRow) - centre;
    console.error(`${question}, fold ${fold}: named features count ${weights[WORDING_PLACES]?.toFixed(2)}`);
  }
  const weights = fitOn(rows, sparse, { question, kept: everything });
  const centre = mean(sparse.map((row) => shareOf(weights, row)));
  return { shares, weights: weights.map((weight) => weight * SCALE), centre };
});
const [hot, warm] = fitted as [(typeof fitted)[0], (typeof fitted)[0]];
writeFileSync(
  WORDING_FILE,
  bytesOf({ hot: hot.weights, warm: warm.weights }, { hot: hot.centre, warm: warm.centre }),
);
writeFileSync(join(work, WORDING_SHARES_FILE), JSON.stringify({ hot: hot.shares, warm: warm.shares }));
console.log(`${rows.length} rows`);
