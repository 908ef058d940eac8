import { hash } from './data.ts';
import { fitLogistic, logOdds, type SparseRow } from './logistic.ts';
import type { Row } from './rows.ts';
import {
  ENCODER_SCALE,
  FOLDS,
  FURTHER,
  GIVEN,
  MIN_EXAMPLES,
  type Question,
  type Settings,
} from './settings.ts';
import { isAbsurd } from './signs.ts';

/** The number of times that weights with the wrong sign are removed and the others fitted again. */
const SIGN_ROUNDS = 1;

/** Features in a fixed order, and their rows. */
export interface Table {
  names: string[];
  rows: SparseRow[];
  penalties: Float64Array;
}

/** Rows of the named features, followed by the encoder's numbers if it is on. */
export function tableOf(rows: readonly Row[], withEncoder: boolean, { penalty }: Settings): Table {
  const counts = new Map<string, number>();
  for (const { features } of rows)
    for (const name of features.keys()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = [...counts]
    .filter(([name, count]) => count >= MIN_EXAMPLES && GIVEN[name] === undefined)
    .map(([name]) => name);
  names.sort();
  const places = new Map(names.map((name, place) => [name, place]));
  const size = names.length + (withEncoder ? (rows[0]?.numbers.length ?? 0) : 0);
  const penalties = new Float64Array(size).fill(penalty.features);
  penalties.fill(penalty.encoder, names.length);
  return { names, rows: rows.map((row) => sparse(row, places, withEncoder)), penalties };
}

function sparse(
  { features, numbers }: Row,
  names: ReadonlyMap<string, number>,
  withEncoder: boolean,
): SparseRow {
  const places: number[] = [];
  const values: number[] = [];
  for (const [name, { value }] of features) {
    const place = names.get(name);
    if (place === undefined) continue;
    places.push(place);
    values.push(value);
  }
  if (withEncoder) {
    numbers.forEach((number, index) => {
      places.push(names.size + index);
      values.push(number * ENCODER_SCALE);
    });
  }
  return rowOf(places, values);
}

function rowOf(places: readonly number[], values: readonly number[]): SparseRow {
  return { places: Int32Array.from(places), values: Float64Array.from(values) };
}

/** Whether an example is positive for a question. */
export function answerOf({ example }: Row, question: Question): number {
  return example.label === 'hot' || (question === 'warm' && example.label === 'warm') ? 1 : 0;
}

/** The weight of an example for a question. */
export function countOf(row: Row, question: Question, settings: Settings): number {
  const { example } = row;
  const [yes, no] = settings.counts[example.set] ?? [1, 1];
  if (example.kind === 'consumer') return 0.5;
  const share = FURTHER.has(example.set) && !example.sure ? settings.unsure : 1;
  return share * (answerOf(row, question) === 1 ? yes : no);
}

interface Asked {
  places: readonly number[];
  question: Question;
  settings: Settings;
  /** Initial weights near the solution, which shorten the fit. */
  near?: Float64Array | undefined;
}

/** Fits a question to the rows at the indexes `places`. */
export function fitQuestion(
  rows: readonly Row[],
  table: Table,
  { places, question, settings, near }: Asked,
): Float64Array {
  const answers = places.map((place) => answerOf(rows[place] as Row, question));
  const counts = places.map((place) => countOf(rows[place] as Row, question, settings));
  const left = new Set<number>();
  let start = near;
  for (let round = 0; ; round++) {
    const kept = places.map((place) => without(table.rows[place] as SparseRow, left));
    const weights = fitLogistic({ rows: kept, answers, counts, penalties: table.penalties }, start);
    const absurd = table.names.flatMap((name, i) => (isAbsurd(name, weights[i] ?? 0) ? [i] : []));
    if (round === SIGN_ROUNDS || absurd.length === 0) {
      for (const i of absurd) weights[i] = 0;
      return weights;
    }
    for (const i of absurd) left.add(i);
    start = weights;
  }
}

function without({ places, values }: SparseRow, left: ReadonlySet<number>): SparseRow {
  if (left.size === 0) return { places, values };
  const kept = [...places.keys()].filter((i) => !left.has(places[i] ?? 0));
  return rowOf(
    kept.map((i) => places[i] ?? 0),
    kept.map((i) => values[i] ?? 0),
  );
}

/** The fold of each row; posts with the same text are in the same fold. */
export function foldsOf(rows: readonly Row[], seed: number): number[] {
  return rows.map(({ example }) => hash(textKey(example.text), seed) % FOLDS);
}

/** The log-odds of every row, with weights that were fitted without it. */
export function crossValidate(
  rows: readonly Row[],
  table: Table,
  { question, settings, seed }: { question: Question; settings: Settings; seed: number },
): number[] {
  const folds = foldsOf(rows, seed);
  const odds = new Array<number>(rows.length).fill(0);
  let near: Float64Array | undefined;
  for (let fold = 0; fold < FOLDS; fold++) {
    const places = [...rows.keys()].filter((place) => folds[place] !== fold);
    const weights = fitQuestion(rows, table, { places, question, settings, near });
    near ??= weights;
    rows.forEach((_, place) => {
      if (folds[place] === fold) odds[place] = logOdds(weights, table.rows[place] as SparseRow);
    });
  }
  return odds.map((odd, place) => odd + givenOf(rows[place] as Row));
}

export function givenOf({ features }: Row): number {
  return Object.entries(GIVEN).reduce(
    (sum, [name, weight]) => sum + weight * (features.get(name)?.value ?? 0),
    0,
  );
}

function textKey(text: string): string {
  return text.toLowerCase().replace(/\W+/g, ' ').slice(0, 200);
}
