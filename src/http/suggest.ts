/** The known name that `name` was most likely meant to be, or null where none is near. */
export function suggest(name: string, known: readonly string[]): string | null {
  if (name.length > 64) return null;
  const typed = name.toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(typed.length / 3)) + 1;
  for (const candidate of known) {
    // At least as many letters have to be added or taken away.
    if (Math.abs(candidate.length - typed.length) >= bestDistance) continue;
    const distance = editDistance(typed, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  // A name of which nothing is left after the edits was not meant.
  return bestDistance < typed.length ? best : null;
}

/** Levenshtein distance in two rows; takes time in the product of the lengths. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
