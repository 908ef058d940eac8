/** `total` in whole parts proportional to `weights`: they add up to `total`, the largest remainders are rounded up. */
export function share<K extends string>(
  total: number,
  weights: Readonly<Record<K, number>>,
): Record<K, number> {
  const entries = Object.entries(weights) as [K, number][];
  const sum = entries.reduce((all, [, weight]) => all + weight, 0);
  const exact = entries.map(([key, weight]) => ({ key, part: sum === 0 ? 0 : (total * weight) / sum }));
  const whole = exact.map(({ key, part }) => ({
    key,
    points: Math.floor(part),
    rest: part - Math.floor(part),
  }));
  let left = sum === 0 ? 0 : total - whole.reduce((all, { points }) => all + points, 0);
  // Sorting is stable: of equal remainders the first named is rounded up.
  for (const entry of [...whole].sort((a, b) => b.rest - a.rest)) {
    if (left-- > 0) entry.points++;
  }
  return Object.fromEntries(whole.map(({ key, points }) => [key, points])) as Record<K, number>;
}
