/** What a known fact says to what a profile asks; `unknown`: it is too wide, or not understood. */
export type Verdict = 'fits' | 'does_not_fit' | 'unknown';

/** Of the ways to understand a fact the one that speaks best for it; none at all tell nothing. */
export function bestOf(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('fits')) return 'fits';
  return verdicts.length === 0 || verdicts.includes('unknown') ? 'unknown' : 'does_not_fit';
}
