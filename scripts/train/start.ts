import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTokenizer } from '../../src/signals/encoder/load-encoder.ts';
import { loadProfiles } from './data.ts';
import { loadAll } from './examples.ts';
import { logOdds, type SparseRow } from './logistic.ts';
import { encodeRows, type Row, readRows } from './rows.ts';
import {
  COLD_SHARES,
  ENCODER_SCALE,
  FOLDS,
  QUESTIONS,
  type Question,
  SETTINGS,
  TUNED_SEEDS,
} from './settings.ts';
import { START_FILE, type Start, type StartOfPart } from './tuned.ts';
import { answerOf, countOf, fitQuestion, foldsOf, tableOf } from './validate.ts';

/** The starting point of tuning: both questions fitted on the rows outside a fold, with the pretrained encoder. */
function startAll(rows: readonly Row[]): Start['parts'] {
  const fitted = { hot: fitParts(rows, 'hot'), warm: fitParts(rows, 'warm') };
  return fitted.hot.map(({ seed, fold, ...hot }, i) => {
    const { seed: _seed, fold: _fold, ...warm } = fitted.warm[i] as PartOfQuestion;
    return { seed, fold, hot, warm };
  });
}

type PartOfQuestion = { seed: number | null; fold: number } & StartOfPart;

function fitParts(rows: readonly Row[], question: Question): PartOfQuestion[] {
  const settings = SETTINGS[question];
  const table = tableOf(rows, true, settings);
  const { names } = table;
  const everything = [...rows.keys()];
  let near: Float64Array | undefined;
  const fitOn = (places: readonly number[]): StartOfPart => {
    const weights = fitQuestion(rows, table, { places, question, settings, near });
    near ??= weights;
    const named = Float64Array.from(weights);
    named.fill(0, names.length, -1);
    return {
      odds: table.rows.map((row: SparseRow) => logOdds(named, row)),
      head: [...weights.slice(names.length, -1)].map((weight) => weight * ENCODER_SCALE),
      named: {
        weights: Object.fromEntries(names.map((name, i) => [name, weights[i] ?? 0])),
        bias: weights.at(-1) ?? 0,
      },
    };
  };
  const parts: PartOfQuestion[] = [{ seed: null, fold: -1, ...fitOn(everything) }];
  for (const seed of TUNED_SEEDS) {
    const folds = foldsOf(rows, seed);
    for (let fold = 0; fold < FOLDS; fold++) {
      console.error(`${question}: seed ${seed}, fold ${fold}`);
      parts.push({ seed, fold, ...fitOn(everything.filter((place) => folds[place] !== fold)) });
    }
  }
  return parts;
}

const [folder, base, work] = process.argv.slice(2);
if (folder === undefined || base === undefined || work === undefined) {
  console.error('Usage: npm run train:start -- FOLDER BASE WORK   (see scripts/train/README.md)');
  process.exit(64);
}
const rows = readRows(loadAll(folder), loadProfiles(folder));
await encodeRows(rows, base);
const tokens = await loadTokenizer(base);
const start: Start = {
  rows: rows.map((row) => ({
    tokens: tokens(row.digest),
    answers: QUESTIONS.map((question) => answerOf(row, question)),
    counts: QUESTIONS.map((question) => countOf(row, question, SETTINGS[question])),
    share: row.example.label === 'cold' ? (COLD_SHARES[row.example.set] ?? 1) : 1,
    kind: row.example.kind,
  })),
  folds: Object.fromEntries(TUNED_SEEDS.map((seed) => [seed, foldsOf(rows, seed)])),
  parts: startAll(rows),
};
writeFileSync(join(work, START_FILE), JSON.stringify(start));
console.log(`${rows.length} rows, ${start.parts.length} parts`);
