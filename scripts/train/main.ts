import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Judge, LearntModel, Linear } from '../../src/signals/model/learnt.ts';
import { loadProfiles } from './data.ts';
import { loadAll } from './examples.ts';
import { figuresOf, type Judged, linesOf, marginOf, placesBySet, type SetFigures } from './figures.ts';
import { type Row, readRows } from './rows.ts';
import {
  FINAL_COUNTS,
  GIVEN,
  type Question,
  SEEDS,
  SETTINGS,
  type Settings,
  TUNED_SEEDS,
} from './settings.ts';
import { readTuned, type Tuned } from './tuned.ts';
import { fitTypes } from './types.ts';
import { crossValidate, fitQuestion, tableOf, withShare } from './validate.ts';

const VERSION = '2026-11-23';
const WEIGHTS_FILE = join(import.meta.dirname, '../../src/signals/model/weights.json');
/** Margins beyond this do not make up for others that are missed. */
const MARGIN_CAP = 0.03;
const DIGITS = 4;
const WITHIN_REACH = 0.98;

interface Trained {
  judge: Judge;
  figures: SetFigures[];
  /** Without the labels that are marked unsure. */
  sure: SetFigures[];
}

/** What thresholds are chosen for: what each row's odds are without it, and the weights with it. */
interface Fitted {
  /** By seed. */
  judged: Judged[];
  linear: Record<Question, Linear>;
  /** What the encoder's share is multiplied by. */
  trust: Record<Question, number>;
}

function settingsOf(question: Question, judge: keyof typeof FINAL_COUNTS): Settings {
  const { counts, ...settings } = SETTINGS[question];
  return { ...settings, counts: { ...counts, ...FINAL_COUNTS[judge][question] } };
}

/** By words alone. */
function fitWords(rows: readonly Row[]): Fitted {
  const places = [...rows.keys()];
  const fitBoth = (question: Question) => {
    const settings = settingsOf(question, 'words');
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
    trust: { hot: 0, warm: 0 },
  };
}

/**
 * With the encoder: how far its share is to be believed, and what features are worth beside it, by shares of an encoder
 * that had not seen the row.
 */
function fitEncoder(rows: readonly Row[], tuned: Tuned): Fitted {
  const places = [...rows.keys()];
  const [seed] = TUNED_SEEDS;
  const fitBoth = (question: Question) => {
    const settings = settingsOf(question, 'encoder');
    const shares = tuned.validated[seed]?.shares[question] ?? [];
    const table = withShare(tableOf(rows, false, settings), shares);
    const odds = crossValidate(rows, table, { question, settings, seed });
    const weights = fitQuestion(rows, table, { places, question, settings });
    const trust = weights[table.names.length] ?? 0;
    const named = table.names.map((name, i) => [name, round(weights[i] ?? 0)] as const);
    console.error(`${question}: the encoder's share counts ${trust.toFixed(2)}`);
    return {
      odds,
      trust,
      linear: {
        bias: (weights.at(-1) ?? 0) + trust * tuned[question].bias,
        weights: { ...Object.fromEntries(named), ...GIVEN },
        encoder: tuned[question].head.map((weight) => round(trust * weight)),
      },
    };
  };
  const [hot, warm] = [fitBoth('hot'), fitBoth('warm')];
  return {
    judged: [{ hot: hot.odds, warm: warm.odds }],
    linear: { hot: hot.linear, warm: warm.linear },
    trust: { hot: hot.trust, warm: warm.trust },
  };
}

/** Finds the pair of thresholds that serves all sets, and puts the classes' beginnings there. */
function accept(rows: readonly Row[], { judged, linear }: Fitted): Trained {
  const cut = chooseCut(rows, judged);
  const { mean: figures } = allFigures(rows, judged, cut);
  const { mean: sure } = allFigures(rows, judged, cut, { counts: ({ example }) => example.sure });
  const shifted = (question: Question): Linear => ({
    ...linear[question],
    bias: round(linear[question].bias - cut[question]),
  });
  return { judge: { hot: shifted('hot'), warm: shifted('warm') }, figures, sure };
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

/** What the encoder gives an average post, and how far from that all but one in fifty stay that it was not tuned on. */
function spreadOf(tuned: Tuned, question: Question, trust: number): { centre: number; reach: number } {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const distances = Object.values(tuned.validated).flatMap(({ shares }) => {
    const centre = mean(shares[question]);
    return shares[question].map((share) => Math.abs(share - centre));
  });
  distances.sort((a, b) => a - b);
  return {
    centre: round(trust * mean(tuned[question].shares)),
    reach: round(trust * (distances[Math.floor(distances.length * WITHIN_REACH)] ?? 0)),
  };
}

/** The encoder's share as a distance from the average: what it gives everybody stands in the bias. */
function centred(linear: Linear, centre: number): Linear {
  return { ...linear, bias: round(linear.bias + centre) };
}

function round(value: number): number {
  return Math.round(value * 10 ** DIGITS) / 10 ** DIGITS;
}

const [folder, work] = process.argv.slice(2);
if (folder === undefined || work === undefined) {
  console.error('Usage: npm run train -- FOLDER WORK   (see scripts/train/README.md)');
  process.exit(64);
}
const rows = readRows(loadAll(folder), loadProfiles(folder));
const tuned = readTuned(work, rows.length);
const words = accept(rows, fitWords(rows));
const fitted = fitEncoder(rows, tuned);
const encoder = accept(rows, fitted);
const types = fitTypes(rows);
const [hot, warm] = [spreadOf(tuned, 'hot', fitted.trust.hot), spreadOf(tuned, 'warm', fitted.trust.warm)];
const model: LearntModel & { accepted: object } = {
  version: VERSION,
  accepted: {
    how: 'cross-validated (words twice, the encoder once); thresholds and settings were chosen by it',
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
