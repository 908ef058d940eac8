/** A histogram in plain numbers, so that counting a value costs next to nothing. */
export interface Distribution {
  /** Upper bounds, ascending; the last bucket is unbounded. */
  readonly bounds: readonly number[];
  /** Number of values in each bucket, with one more bucket than bounds. */
  readonly counts: readonly number[];
  /** The sum of all values. */
  readonly sum: number;
  add(value: number): void;
}

/** An empty histogram. */
export function createDistribution(bounds: readonly number[]): Distribution {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    add(value) {
      sum += value;
      let at = 0;
      while (at < bounds.length && value > (bounds[at] as number)) at++;
      (counts[at] as number) += 1;
    },
  };
}
