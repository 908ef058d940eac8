/** How often values fell up to each of some bounds: plain numbers, so that to count one costs nothing worth measuring. */
export interface Distribution {
  /** Upper bounds, ascending; a last one beyond them is understood. */
  readonly bounds: readonly number[];
  /** How many values fell into each bound and not into the one before; one more than there are bounds. */
  readonly counts: readonly number[];
  /** Of all values. */
  readonly sum: number;
  add(value: number): void;
}

/** A distribution that has counted nothing yet. */
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
