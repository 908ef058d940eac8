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

/** Prints figures as one JSON object a line, or as a table for people. */
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

/** The middle value: one slow round on a busy machine does not move it. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
