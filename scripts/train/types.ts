import { SIGNAL_TYPES } from '../../src/model/signal.ts';
import type { Linear } from '../../src/signals/judge.ts';
import { hash } from './data.ts';
import { fitLogistic, logOdds, type SparseRow } from './logistic.ts';
import type { Row } from './rows.ts';
import { FOLDS, SEEDS, SETTINGS } from './settings.ts';
import { tableOf } from './validate.ts';

const PENALTY = { features: 3, encoder: 1 };
/** Rare types have a higher weight, for a better recall. */
const COUNTS: Readonly<Record<string, number>> = { review: 6, funding_event: 3, job_change: 4 };
/** Labels without a signal type. */
const SAME: Readonly<Record<string, string>> = { hiring: 'intent_post' };

/** Classifies types by words alone, one against the rest; trained on posts with a type, and on some cold ones. */
export function fitTypes(rows: readonly Row[]): { linears: Record<string, Linear>; lines: string[] } {
  const typed = rows.filter(({ example }) => typeLabel(example.type) !== null && example.kind !== 'consumer');
  const table = tableOf(typed, false, { ...SETTINGS.warm, penalty: PENALTY });
  const linears = Object.fromEntries(
    SIGNAL_TYPES.map((type) => {
      const weights = fitOne(typed, table.rows, table.penalties, type);
      const named = table.names.map((name, i) => [name, Math.round((weights[i] ?? 0) * 1e4) / 1e4] as const);
      return [type, { bias: weights.at(-1) ?? 0, weights: Object.fromEntries(named), encoder: [] }];
    }),
  );
  return { linears, lines: validateTypes(typed, table.rows, table.penalties) };
}

function typeLabel(type: string): string | null {
  const same = SAME[type] ?? type;
  return SIGNAL_TYPES.some((each) => each === same) ? same : null;
}

function fitOne(
  rows: readonly Row[],
  sparse: readonly SparseRow[],
  penalties: Float64Array,
  type: string,
): Float64Array {
  const answers = rows.map(({ example }) => (typeLabel(example.type) === type ? 1 : 0));
  const counts = rows.map(({ example }, i) =>
    answers[i] === 1 ? (COUNTS[type] ?? 1) : example.label === 'cold' ? 0.5 : 1,
  );
  return fitLogistic({ rows: sparse, answers, counts, penalties });
}

/** Recall and precision of each type among real hot and warm posts. */
function validateTypes(
  rows: readonly Row[],
  sparse: readonly SparseRow[],
  penalties: Float64Array,
): string[] {
  const folds = rows.map(({ example }) => hash(example.text.slice(0, 200), SEEDS[0]) % FOLDS);
  const predicted = new Array<string>(rows.length).fill('');
  for (let fold = 0; fold < FOLDS; fold++) {
    const inside = [...rows.keys()].filter((place) => folds[place] !== fold);
    const part = inside.map((place) => rows[place] as Row);
    const partSparse = inside.map((place) => sparse[place] as SparseRow);
    const weights = SIGNAL_TYPES.map((type) => fitOne(part, partSparse, penalties, type));
    rows.forEach((_, place) => {
      if (folds[place] !== fold) return;
      const odds = weights.map((each) => logOdds(each, sparse[place] as SparseRow));
      predicted[place] = SIGNAL_TYPES[odds.indexOf(Math.max(...odds))] ?? '';
    });
  }
  return SIGNAL_TYPES.map((type) => {
    const places = [...rows.keys()].filter((place) => {
      const example = rows[place]?.example;
      return example?.label !== 'cold' && example?.set !== 'written';
    });
    const of = places.filter((place) => typeLabel(rows[place]?.example.type ?? '') === type);
    const as = places.filter((place) => predicted[place] === type);
    const right = of.filter((place) => predicted[place] === type).length;
    return `${type}: recall ${right} of ${of.length}, precision ${right} of ${as.length}`;
  });
}
