import type { Row } from './rows.ts';
import { TARGETS } from './settings.ts';

/** The log-odds of each row for both questions. */
export interface Judged {
  hot: readonly number[];
  warm: readonly number[];
}

/** Precision and recall of one set at one pair of thresholds. */
export interface SetFigures {
  set: string;
  hotRight: number;
  hotFound: number;
  foundRight: number;
  foundFound: number;
  hotAtLeastWarm: number;
  aucHot: number;
}

/** Rows that are evaluated, by set; posts by consumers are excluded. */
export function placesBySet(
  rows: readonly Row[],
  counts: (row: Row) => boolean = () => true,
): Map<string, number[]> {
  const places = new Map<string, number[]>(Object.keys(TARGETS).map((set) => [set, []]));
  rows.forEach((row, place) => {
    const { example } = row;
    if (example.kind !== 'consumer' && counts(row)) places.get(example.set)?.push(place);
  });
  return places;
}

interface FiguresAsked {
  places: readonly number[];
  set: string;
  cut: { hot: number; warm: number };
  /** False: without the area under the curve, which does not depend on thresholds. */
  withCurve?: boolean;
}

export function figuresOf(
  rows: readonly Row[],
  judged: Judged,
  { places, set, cut, withCurve = true }: FiguresAsked,
): SetFigures {
  const labels = places.map((place) => rows[place]?.example.label);
  const caps = places.map((place) => capOf(rows[place]));
  const soundsHot = places.map((place) => (judged.hot[place] ?? 0) >= cut.hot);
  const isHot = places.map((_, i) => soundsHot[i] === true && caps[i] === 'none');
  const isFound = places.map(
    (place, i) => caps[i] !== 'cold' && (soundsHot[i] === true || (judged.warm[place] ?? 0) >= cut.warm),
  );
  const count = (test: (i: number) => boolean) => labels.reduce((sum, _, i) => sum + (test(i) ? 1 : 0), 0);
  const hot = (i: number) => labels[i] === 'hot';
  const warm = (i: number) => labels[i] !== 'cold';
  const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole);
  const hotRight = count((i) => hot(i) && isHot[i] === true);
  const foundRight = count((i) => warm(i) && isFound[i] === true);
  return {
    set,
    hotRight: share(
      hotRight,
      count((i) => isHot[i] === true),
    ),
    hotFound: share(hotRight, count(hot)),
    foundRight: share(
      foundRight,
      count((i) => isFound[i] === true),
    ),
    foundFound: share(foundRight, count(warm)),
    hotAtLeastWarm: share(
      count((i) => hot(i) && isFound[i] === true),
      count(hot),
    ),
    aucHot: withCurve
      ? areaUnderCurve(
          places.map((place) => judged.hot[place] ?? 0),
          labels.map((label) => label === 'hot'),
        )
      : 0,
  };
}

/** The highest class of a post that mentions nothing of its profile's topic, as in the product. */
function capOf(row: Row | undefined): 'none' | 'warm' | 'cold' {
  if (!row?.features.has('topic.none')) return 'none';
  return row.isKnownToFit ? 'warm' : 'cold';
}

/** The probability that a hot post has higher odds than another one. */
export function areaUnderCurve(odds: readonly number[], answers: readonly boolean[]): number {
  const order = odds
    .map((value, i) => ({ value, yes: answers[i] === true }))
    .sort((a, b) => a.value - b.value);
  let ranks = 0;
  let yes = 0;
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && order[to]?.value === order[from]?.value) to++;
    for (let i = from; i < to; i++) {
      if (order[i]?.yes !== true) continue;
      ranks += (from + to + 1) / 2;
      yes++;
    }
    from = to;
  }
  const no = order.length - yes;
  return yes === 0 || no === 0 ? 0.5 : (ranks - (yes * (yes + 1)) / 2) / (yes * no);
}

/** The margins above the targets, each at most `cap`: the criterion for thresholds. */
export function marginOf(figures: readonly SetFigures[], cap: number): { sum: number; least: number } {
  const margins = figures.flatMap((each) => {
    const values = [each.hotRight, each.hotFound, each.foundRight, each.foundFound, each.hotAtLeastWarm];
    return (TARGETS[each.set] ?? []).slice(0, 5).map((target, i) => (values[i] ?? 0) - target);
  });
  return {
    sum: margins.reduce((sum, margin) => sum + Math.min(margin, cap), 0),
    least: Math.min(...margins),
  };
}

/** The table as lines of text; `!` marks a missed target. */
export function linesOf(figures: readonly SetFigures[]): string[] {
  return figures.map((each) => {
    const values = [
      each.hotRight,
      each.hotFound,
      each.foundRight,
      each.foundFound,
      each.hotAtLeastWarm,
      each.aucHot,
    ];
    const cells = values.map((value, i) => {
      const target = TARGETS[each.set]?.[i];
      return `${value.toFixed(2)}${target === undefined ? '' : ` (${target.toFixed(2)}${value < target ? ' !' : ''})`}`;
    });
    return `${each.set.padEnd(8)} ${cells.map((cell) => cell.padEnd(13)).join(' ')}`;
  });
}
