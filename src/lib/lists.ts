/**
 * Appends `more` to a list. Spreading it into `push` would pass each item as an argument and throw a
 * RangeError for more than about 100,000 items, which overflow the stack.
 */
export function addAll<T>(list: T[], more: Iterable<T>): void {
  for (const item of more) list.push(item);
}

/** The largest value; at least `least`. */
export function largestOf(values: Iterable<number>, least = Number.NEGATIVE_INFINITY): number {
  let largest = least;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

/** The smallest value; at most `most`. */
export function smallestOf(values: Iterable<number>, most = Number.POSITIVE_INFINITY): number {
  let smallest = most;
  for (const value of values) smallest = Math.min(smallest, value);
  return smallest;
}

/** The dot product of two vectors of the same length; for unit vectors, their cosine similarity. */
export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

/**
 * Releases the memory of a buffer that the caller owns; the garbage collector is slow to free memory outside
 * its heap. Does nothing if the bytes are less than half of their ArrayBuffer, because the rest may be in use
 * (Node's pool of small buffers).
 */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength > buffer.byteLength / 2) buffer.transfer(0);
}
