import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Judge, LearntModel, Linear } from '../../src/signals/model/learnt.ts';
import { loadExamples, loadFurther, loadProfiles } from './data.ts';
import { figuresOf, type Judged, linesOf, marginOf, placesBySet, type SetFigures } from './figures.ts';
import { logOdds } from './logistic.ts';
import readLabels from './read-labels.json' with { type: 'json' };
import { type Row, readRows } from './rows.ts';
import { writtenSentences } from './sentences.ts';
import { ENCODER_SCALE, SEEDS, SETTINGS } from './settings.ts';
import { fitTypes } from './types.ts';
import { crossValidate, fitQuestion, tableOf } from './validate.ts';

const VERSION = '2026-11-6';
const WEIGHTS_FILE = join(import.meta.dirname, '../../src/signals/model/weights.json');
/** Margins beyond this do not make up for others that are missed. */
const MARGIN_CAP = 0.03;
const DIGITS = 4;

interface Trained {
  judge: Judge;
  figures: SetFigures[];
  /** Without the labels that are marked unsure. */
  sure: SetFigures[];
}

/** Fits both questions, and finds the pair of thresholds that serves all sets by cross-validation. */
function train(rows: readonly Row[], withEncoder: boolean): Trained {
  const tables = {
    hot: tableOf(rows, withEncoder, SETTINGS.hot),
    warm: tableOf(rows, withEncoder, SETTINGS.warm),
  };
  console.error(`fitting ${withEncoder ? 'with the encoder' : 'words alone'}`);
  const judged = SEEDS.map((seed) => ({
    hot: crossValidate(rows, tables.hot, { question: 'hot', settings: SETTINGS.hot, seed }),
    warm: crossValidate(rows, tables.warm, { question: 'warm', settings: SETTINGS.warm, seed }),
  }));
  const cut = chooseCut(rows, judged);
  const places = [...rows.keys()];
  const linear = (question: 'hot' | 'warm'): Linear => {
    const { names } = tables[question];
    const settings = SETTINGS[question];
    const weights = fitQuestion(rows, tables[question], { places, question, settings });
    const bias = round((weights.at(-1) ?? 0) - cut[question]);
    const named = Object.fromEntries(names.map((name, i) => [name, round(weights[i] ?? 0)]));
    const encoder = [...weights.slice(names.length, -1)].map((weight) => round(weight * ENCODER_SCALE));
    return { bias, weights: named, encoder };
  };
  const { mean: figures } = allFigures(rows, judged, cut);
  const { mean: sure } = allFigures(rows, judged, cut, { counts: ({ example }) => example.sure });
  return { judge: { hot: linear('hot'), warm: linear('warm') }, figures, sure };
}

/** Figures at a pair of thresholds: those of each seed, and their mean. */
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

function chooseCut(rows: readonly Row[], judged: readonly Judged[]): { hot: number; warm: number } {
  let best = { hot: 0, warm: 0, worth: Number.NEGATIVE_INFINITY };
  for (let hot = -2; hot <= 1.5; hot += 0.1) {
    for (let warm = -1.5; warm <= 1; warm += 0.1) {
      const { sum, least } = marginOf(
        allFigures(rows, judged, { hot, warm }, { withCurve: false }).mean,
        MARGIN_CAP,
      );
      const worth = sum + least;
      if (worth > best.worth) best = { hot, warm, worth };
    }
  }
  return best;
}

/** What the encoder gives an average post, and how far from it all but one in twenty stay. */
function spreadOf(rows: readonly Row[], { encoder }: Linear): { centre: number; reach: number } {
  const weights = Float64Array.from([...encoder, 0]);
  const sizes = rows.map(({ numbers }) =>
    logOdds(weights, { places: Int32Array.from(numbers.keys()), values: Float64Array.from(numbers) }),
  );
  const centre = sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, sizes.length);
  const distances = sizes.map((size) => Math.abs(size - centre)).sort((a, b) => a - b);
  return { centre: round(centre), reach: round(distances[Math.floor(distances.length * 0.95)] ?? 0) };
}

/** The encoder's share as a distance from the average: what it gives everybody stands in the bias. */
function centred(linear: Linear, centre: number): Linear {
  return { ...linear, bias: round(linear.bias + centre) };
}

function round(value: number): number {
  return Math.round(value * 10 ** DIGITS) / 10 ** DIGITS;
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error('Usage: npm run train -- FOLDER   (a folder with labels/ and posts/)');
  process.exit(64);
}
const labels = Object.fromEntries(
  Object.entries(readLabels).flatMap(([label, ids]) => ids.map((id) => [id, label] as const)),
);
const examples = [...loadExamples(folder), ...loadFurther(folder, labels), ...writtenSentences()];
const rows = await readRows(examples, loadProfiles(folder), join(tmpdir(), 'signalpost-encoded.json'));
const words = train(rows, false);
const encoder = train(rows, true);
const types = fitTypes(rows);
const [hot, warm] = [spreadOf(rows, encoder.judge.hot), spreadOf(rows, encoder.judge.warm)];
const model: LearntModel & { accepted: object } = {
  version: VERSION,
  accepted: {
    how: `${SEEDS.length} cross-validations; thresholds and settings were chosen by them`,
    words: linesOf(words.figures),
    encoder: linesOf(encoder.figures),
    encoderSure: linesOf(encoder.sure),
    wordsSure: linesOf(words.sure),
    types: types.lines,
  },
  words: words.judge,
  encoder: { hot: centred(encoder.judge.hot, hot.centre), warm: centred(encoder.judge.warm, warm.centre) },
  encoderCentre: { hot: hot.centre, warm: warm.centre },
  encoderReach: { hot: hot.reach, warm: warm.reach },
  types: types.linears,
};
writeFileSync(WEIGHTS_FILE, `${JSON.stringify(model, null, 1).replace(/(?<=[\d[,])\n\s+(?=-?\d)/g, ' ')}\n`);
console.log(`${rows.length} examples\nwords alone\n${linesOf(words.figures).join('\n')}`);
console.log(`with the encoder\n${linesOf(encoder.figures).join('\n')}\ntypes\n${types.lines.join('\n')}`);
