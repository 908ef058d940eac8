/** First and last name of a full one. */
export interface SplitName {
  first: string;
  last: string;
}

const TITLES = /^(?:dr|prof|mr|mrs|ms|mx|miss|sir|herr|frau|ing|dipl|mag)\.?$/i;
const SUFFIXES = /^(?:jr|sr|ii|iii|iv|ph\.?d|md|mba|cpa|esq|msc|bsc|pe|cissp|pmp)\.?$/i;
/** What people are called, not what accounts are: `plumber_42` and `u/hvac` have no first name. */
const PERSONAL = /^[\p{L}\p{M}][\p{L}\p{M}'’.,\- ]*$/u;

/** Takes a full name apart: "Dr. Jane van Dyk, PhD" is Jane, van Dyk. Null where it is not made of two parts. */
export function splitName(name: string): SplitName | null {
  if (!PERSONAL.test(name.trim())) return null;
  const words = inReadingOrder(name).filter((word) => word !== '');
  while (words[0] !== undefined && TITLES.test(words[0])) words.shift();
  while (words.length > 2 && SUFFIXES.test(words.at(-1) ?? '')) words.pop();
  const [first = '', ...rest] = words;
  return rest.length === 0 ? null : { first, last: rest.join(' ') };
}

/** "Doe, Jane" is Jane Doe; "Jane Doe, PhD" is not PhD Jane Doe. */
function inReadingOrder(name: string): string[] {
  const [head = '', ...tail] = name.split(',').map((part) => part.trim().split(/\s+/));
  const after = tail.flat().filter((word) => word !== '');
  const isSuffix = after.length > 0 && after.every((word) => SUFFIXES.test(word));
  if (after.length === 0 || isSuffix) return [...head, ...after];
  return [...after, ...head];
}
