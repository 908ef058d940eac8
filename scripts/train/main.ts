import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Judge, LearntModel, Linear } from '../../src/signals/judge.ts';
import { loadProfiles } from './data.ts';
import { loadAll } from './examples.ts';
import { figuresOf, type Judged, linesOf, marginOf, placesBySet, type SetFigures } from './figures.ts';
import { type Row, readRows } from './rows.ts';
import { GIVEN, type Question, SEEDS, SETTINGS, type Settings, WORDS_COUNTS } from './settings.ts';
import { readTuned, type Tuned } from './tuned.ts';
import { fitTypes } from './types.ts';
import { crossValidate, fitQuestion, givenOf, tableOf } from './validate.ts';

const VERSION = '2026-11-28';
/** When thresholds and scores were chosen on posts that are not in the training data. */
const CALIBRATED_ON = '2026-11-27';
const WEIGHTS_FILE = join(import.meta.dirname, '../../src/signals/weights.json');
/** Larger margins do not compensate for missed targets. */
const MARGIN_CAP = 0.03;
const DIGITS = 4;
const WITHIN_REACH = 0.98;

interface Trained {
  judge: Judge;
  figures: SetFigures[];
  /** Without labels that are marked as uncertain. */
  sure: SetFigures[];
}

/** The input for choosing thresholds: the odds of each row by a model fitted without it, and the weights fitted on all rows. */
interface Fitted {
  /** By seed. */
  judged: Judged[];
  linear: Record<Question, Linear>;
}

function wordsSettings(question: Question): Settings {
  const { counts, ...settings } = SETTINGS[question];
  return { ...settings, counts: { ...counts, ...WORDS_COUNTS[question] } };
}

/** Based on words alone. */
function fitWords(rows: readonly Row[]): Fitted {
  const places = [...rows.keys()];
  const fitBoth = (question: Question) => {
    const settings = wordsSettings(question);
    const table = tableOf(rows, false, settings);
    const odds = SEEDS.map((seed) => crossValidate(rows, table, { question, settings, seed }));
    const weights = fitQuestion(rows, table, { places, question, settings });
    const named = table.names.map((name, i) => [name, round(weights[i] ?? 0)] as const);
    return {
      odds,
      linear: { bias: weights.at(-1) ?? 0, weights: { ...Object.fromEntries(named), ...GIVEN }, encoder: [] },
    };
  };
  const [hot, warm] = [fitBoth('hot'), fitBoth('warm')];
  return {
    judged: SEEDS.map((_, i) => ({ hot: hot.odds[i] ?? [], warm: warm.odds[i] ?? [] })),
    linear: { hot: hot.linear, warm: warm.linear },
  };
}

/** With the encoder: the jointly fitted weights, evaluated on rows that the encoder was not tuned on. */
function fitEncoder(rows: readonly Row[], tuned: Tuned): Fitted {
  const oddsOf = (question: Question) =>
    tuned.validated.odds[question].map((odds, place) => odds + givenOf(rows[place] as Row));
  const linearOf = (question: Question): Linear => {
    const { bias, head, named } = tuned[question];
    const weights = Object.entries(named.weights).map(([name, weight]) => [name, round(weight)]);
    return {
      bias: bias + named.bias,
      weights: { ...Object.fromEntries(weights), ...GIVEN },
      encoder: head.map(round),
    };
  };
  return {
    judged: [{ hot: oddsOf('hot'), warm: oddsOf('warm') }],
    linear: { hot: linearOf('hot'), warm: linearOf('warm') },
  };
}

/** Finds the best pair of thresholds for all sets, at which the classes begin. */
function accept(
  rows: readonly Row[],
  { judged, linear }: Fitted,
  isJudged: (row: Row) => boolean = () => true,
): Trained {
  const cut = chooseCut(rows, judged, isJudged);
  const { mean: figures } = allFigures(rows, judged, cut, { counts: isJudged });
  const { mean: sure } = allFigures(rows, judged, cut, {
    counts: (row) => isJudged(row) && row.example.sure,
  });
  const shifted = (question: Question): Linear => ({
    ...linear[question],
    bias: round(linear[question].bias - cut[question]),
  });
  return { judge: { hot: shifted('hot'), warm: shifted('warm') }, figures, sure };
}

/** The figures at a pair of thresholds, for each seed, and their mean. */
function allFigures(
  rows: readonly Row[],
  judged: readonly Judged[],
  cut: { hot: number; warm: number },
  { counts = () => true, withCurve = true }: { counts?: (row: Row) => boolean; withCurve?: boolean } = {},
) {
  const bySet = [...placesBySet(rows, counts)];
  const each = judged.map((one) =>
    bySet.map(([set, places]) => figuresOf(rows, one, { places, set, cut, withCurve })),
  );
  const mean = (each[0] ?? []).map((first, i) => {
    const keys = Object.keys(first).filter((key) => key !== 'set') as (keyof Omit<SetFigures, 'set'>)[];
    const values = keys.map((key) => [
      key,
      each.reduce((sum, one) => sum + (one[i]?.[key] ?? 0), 0) / each.length,
    ]);
    return { set: first.set, ...Object.fromEntries(values) } as SetFigures;
  });
  return { each, mean };
}

function chooseCut(
  rows: readonly Row[],
  judged: readonly Judged[],
  counts: (row: Row) => boolean,
): { hot: number; warm: number } {
  let best = { hot: 0, warm: 0, worth: Number.NEGATIVE_INFINITY };
  for (let hot = -2; hot <= 1.5; hot += 0.1) {
    for (let warm = -1.5; warm <= 1; warm += 0.1) {
      const { sum, least } = marginOf(
        allFigures(rows, judged, { hot, warm }, { counts, withCurve: false }).mean,
        MARGIN_CAP,
      );
      const worth = sum + least;
      if (worth > best.worth) best = { hot, warm, worth };
    }
  }
  return best;
}

/** The encoder's share for an average post, and its range for 98 % of the posts that it was not tuned on. */
function spreadOf({ validated, ...tuned }: Tuned, question: Question): { centre: number; reach: number } {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const shares = validated.rows.map((row) => validated.shares[question][row] ?? 0);
  const centre = mean(shares);
  const distances = shares.map((share) => Math.abs(share - centre)).sort((a, b) => a - b);
  return {
    centre: round(mean(tuned[question].shares)),
    reach: round(distances[Math.floor(distances.length * WITHIN_REACH)] ?? 0),
  };
}

/** The encoder's share as the difference from the average, which is added to the bias. */
function centred(linear: Linear, centre: number): Linear {
  return { ...linear, bias: round(linear.bias + centre) };
}

function round(value: number): number {
  return Math.round(value * 10 ** DIGITS) / 10 ** DIGITS;
}

const [folder, work, only] = process.argv.slice(2);
if (folder === undefined || work === undefined || (only !== undefined && only !== '--encoder')) {
  console.error('Usage: npm run train -- FOLDER WORK [--encoder]   (see scripts/train/README.md)');
  process.exit(64);
}
const rows = readRows(loadAll(folder), loadProfiles(folder));
const tuned = readTuned(work, rows.length);
const unseen = new Set(tuned.validated.rows.map((place) => rows[place]));
const encoder = accept(rows, fitEncoder(rows, tuned), (row) => unseen.has(row));
const [hot, warm] = [spreadOf(tuned, 'hot'), spreadOf(tuned, 'warm')];
const { accepted: before, ...kept } = JSON.parse(readFileSync(WEIGHTS_FILE, 'utf8')) as LearntModel & {
  accepted: object;
};
const trained = only === undefined ? trainWords(rows) : { ...kept, accepted: before };
const model: LearntModel & { accepted: object } = {
  version: VERSION,
  calibratedOn: CALIBRATED_ON,
  accepted: {
    ...trained.accepted,
    how: 'words cross-validated twice, the encoder on the folds that it was not tuned on; thresholds and settings were chosen on these figures',
    encoder: linesOf(encoder.figures),
    encoderSure: linesOf(encoder.sure),
  },
  words: trained.words,
  encoder: { hot: centred(encoder.judge.hot, hot.centre), warm: centred(encoder.judge.warm, warm.centre) },
  encoderCentre: { hot: hot.centre, warm: warm.centre },
  encoderReach: { hot: hot.reach, warm: warm.reach },
  types: trained.types,
};
writeFileSync(WEIGHTS_FILE, `${JSON.stringify(model, null, 1).replace(/(?<=[\d[,])\n\s+(?=-?\d)/g, ' ')}\n`);
console.log(
  `${rows.length} examples, ${unseen.size} of which are not in the tuning data\n${linesOf(encoder.figures).join('\n')}`,
);

/** The weights for words alone, and for types. */
function trainWords(all: readonly Row[]): Pick<LearntModel, 'words' | 'types'> & { accepted: object } {
  const words = accept(all, fitWords(all));
  const types = fitTypes(all);
  console.log(`words alone\n${linesOf(words.figures).join('\n')}\ntypes\n${types.lines.join('\n')}`);
  return {
    words: words.judge,
    types: types.linears,
    accepted: { words: linesOf(words.figures), wordsSure: linesOf(words.sure), types: types.lines },
  };
}
