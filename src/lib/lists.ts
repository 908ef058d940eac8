/**
 * Adds `more` at the end of a list. Spread into `push`, each item would be an argument, of which a stack has room for some
 * 100,000: a longer list ends in a RangeError.
 */
export function addAll<T>(list: T[], more: Iterable<T>): void {
  for (const item of more) list.push(item);
}

/** The largest of any number of values, and at least `least`. */
export function largestOf(values: Iterable<number>, least = Number.NEGATIVE_INFINITY): number {
  let largest = least;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

/** The smallest of any number of values, and at most `most`. */
export function smallestOf(values: Iterable<number>, most = Number.POSITIVE_INFINITY): number {
  let smallest = most;
  for (const value of values) smallest = Math.min(smallest, value);
  return smallest;
}

/** The dot product of two vectors of the same length; of vectors of length 1 their cosine. */
export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
