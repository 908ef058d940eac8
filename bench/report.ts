/** One figure of a benchmark: what ours does, what the bare floor does in the same run, and their ratio. */
export interface Figure {
  bench: string;
  variant: string;
  ours: number;
  floor: number;
  ratio: number;
  unit: string;
  /** Further figures by name, units in the names. */
  [detail: string]: string | number;
}

/** Prints figures as one JSON object a line, or for people, with what else was measured below each. */
export function report(figures: readonly Figure[], json: boolean): void {
  for (const figure of figures) {
    if (json) {
      console.log(JSON.stringify(figure));
      continue;
    }
    const { bench, variant, ours, floor, ratio, unit, ...details } = figure;
    console.log(
      `${bench} (${variant}): ratio ${ratio.toFixed(2)}  ours ${Math.round(ours)} ${unit}, floor ${Math.round(floor)} ${unit}`,
    );
    for (const [name, value] of Object.entries(details)) console.log(`    ${name}: ${value}`);
  }
}

/** All figures as a table of Markdown: what `docs/benchmarks.md` keeps. */
export function table(figures: readonly Figure[]): string {
  const short = (value: number) => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
  return [
    '| Benchmark | Ours | Floor | Ratio |',
    '|---|---|---|---|',
    ...figures.map(
      ({ bench, variant, ours, floor, ratio, unit }) =>
        `| ${bench}: ${variant} | ${short(ours)} ${unit} | ${short(floor)} | ${ratio.toFixed(2)} |`,
    ),
  ].join('\n');
}

/**
 * The same figures of several runs as one: the median of each number by itself, and the details of the run whose ratio is the
 * median's.
 */
export function medianOf(runs: readonly (readonly Figure[])[]): Figure[] {
  const all = Map.groupBy(runs.flat(), ({ bench, variant }) => `${bench}: ${variant}`);
  return [...all.values()].flatMap((same) => {
    const ratio = median(same.map((figure) => figure.ratio));
    const middle = same.find((figure) => figure.ratio === ratio);
    if (middle === undefined) return [];
    const [ours, floor] = [median(same.map((one) => one.ours)), median(same.map((one) => one.floor))];
    return [{ ...middle, ours, floor, ratio, ...(same.length > 1 && { runs: same.length }) }];
  });
}

/** The middle value: one slow round on a busy machine does not move it. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
