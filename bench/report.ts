/** One figure of a benchmark: ours, the bare floor's in the same run, and their ratio. */
export interface Figure {
  bench: string;
  variant: string;
  ours: number;
  floor: number;
  ratio: number;
  unit: string;
  /** Further figures by name, with units in the names. */
  [detail: string]: string | number;
}

/** Prints figures as one JSON object per line, or as text, each followed by its details. */
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

/** All figures as a Markdown table, for `docs/benchmarks.md`. */
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
 * Combines the figures of several runs: the median of each number separately, and the details of the run with the median
 * ratio.
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

/** The median, which a single slow round on a busy machine does not change. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
