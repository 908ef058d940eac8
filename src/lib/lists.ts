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
