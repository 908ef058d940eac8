import { normalised } from '../lib/text.ts';

/** Replaces each removed character: lengths, and thus the offsets of evidence, stay the same. */
const MASK = '█';

/**
 * Separators between the words of a name, in prose and in addresses that contain the name (`jane-doe`,
 * `jane%20doe`).
 */
const BETWEEN_WORDS = '(?:[\\s\\p{Z}]+|[._+-]|%20)';

/**
 * Matches addresses, profiles (`linkedin.com/in/…`), ids and names as whole words: `jane@acme.com` does not
 * match in `mary-jane@acme.com` or `jane@acme.com.au`, nor `Ann Lee` in `Ann Leeds`. Null if there are no
 * texts.
 */
export function mentionPattern(texts: readonly string[], names: readonly string[] = []): RegExp | null {
  const isAddress = (text: string) => text.includes('@');
  // The bounds are written once for all texts of a kind: with bounds of its own for each, compiling twenty names took 24 ms instead of 2.
  const alternatives = [
    within(
      '(?<![\\p{L}\\p{N}._%+-])',
      texts.filter(isAddress).map(escaped),
      '(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])',
    ),
    within(
      '(?<![\\p{L}\\p{N}_-])',
      texts.filter((text) => !isAddress(text)).map(escaped),
      '(?![\\p{L}\\p{N}_%-])',
    ),
    within(
      '(?<![\\p{L}\\p{M}\\p{N}])',
      [...new Set(names.flatMap(spellingsOf).flatMap(ordersOf))],
      '(?![\\p{L}\\p{M}\\p{N}])',
    ),
  ].filter((alternative) => alternative !== '');
  return alternatives.length === 0 ? null : new RegExp(alternatives.join('|'), 'giu');
}

function within(start: string, patterns: readonly string[], end: string): string {
  return patterns.length === 0 ? '' : `${start}(?:${patterns.join('|')})${end}`;
}

/**
 * A fast check of raw JSON before the exact one: true whenever {@link mentionPattern} would match one of its
 * strings, and sometimes when it would not. Null if there are no texts.
 */
export function mentionHint(texts: readonly string[], names: readonly string[] = []): RegExp | null {
  const longest = (name: string) =>
    (name.match(/[\p{L}\p{M}]+/gu) ?? []).sort((a, b) => b.length - a.length).slice(0, 1);
  const words = [...texts, ...names.flatMap(spellingsOf).flatMap(longest)];
  return words.length === 0 ? null : new RegExp(words.map(escaped).join('|'), 'iu');
}

/** Twenty names of 75 words took 0.5 s to search for in 500 KB of text, twenty of eight words 0.1 s. */
const MOST_NAME_WORDS = 8;

/**
 * Whether a name identifies one person among most others: at least two words of letters. A single one is
 * shared by many, and a text of very many is no name.
 */
export function isFullName(name: string): boolean {
  // A single character can stand for several words: twenty names of 190 such characters took 0.4 s to compile.
  const words = wordsOfName(normalised(name, 'NFKD'));
  if (words.length > MOST_NAME_WORDS) return false;
  return words.filter((word) => /\p{L}\p{M}*\p{L}/u.test(word)).length >= 2;
}

/** The patterns of a name: as written and, of two words, with a comma in the reverse order. */
function ordersOf(name: string): string[] {
  const words = wordsOfName(name).map(escaped);
  const [first = '', last = ''] = words;
  const turned = words.length === 2 ? [`${last},[\\s\\p{Z}]*${first}`] : [];
  return [words.join(BETWEEN_WORDS), ...turned];
}

/** Spellings with composed accents, with decomposed accents, and without accents. */
function spellingsOf(name: string): string[] {
  const plain = normalised(name, 'NFKD').replace(/[\u0300-\u036f]/gu, '');
  // The name as written, too: the other spellings truncate very long runs of marks.
  return [...new Set([name, normalised(name, 'NFC'), normalised(name, 'NFD'), plain])];
}

function wordsOfName(name: string): string[] {
  return name.split(/[\s\p{Z}]+/u).filter((word) => word !== '');
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');
}

/** Replaces every mention with blocks; the length in code points stays the same. */
export function maskMentions(text: string, pattern: RegExp): string {
  return text.replace(pattern, (mention) => MASK.repeat(Array.from(mention).length));
}

/** Like {@link maskMentions}, for every string in a JSON text: JSON escapes would hide word boundaries. */
export function maskJson(json: string, pattern: RegExp): string {
  const masked: unknown = JSON.parse(json, (_, value: unknown) =>
    typeof value === 'string' ? maskMentions(value, pattern) : value,
  );
  return JSON.stringify(masked);
}

/** Whether any string in a JSON text contains a mention. */
export function mentionsInJson(json: string, pattern: RegExp): boolean {
  return mentionsIn(JSON.parse(json), pattern);
}

function mentionsIn(value: unknown, pattern: RegExp): boolean {
  if (typeof value === 'string') return value.search(pattern) !== -1;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((member) => mentionsIn(member, pattern));
}

/** Up to this number of ids, searching for each one is faster. */
export const FEW_TEXTS = 20;

/** Whether a JSON text contains one of the texts; a person may have thousands of signals, so ids are looked up in a set. */
export function createTextTest(texts: readonly string[]): (json: string) => boolean {
  const isId = (text: string) => texts.length > FEW_TEXTS && /^(?:sig|led)_[0-9a-z]+$/.test(text);
  const ids = new Set(texts.filter(isId));
  const others = texts
    .filter((text) => !isId(text))
    .map((text) => JSON.stringify(text).slice(1, -1))
    .filter((text) => text !== '');
  return (json) => {
    if (others.some((text) => json.includes(text))) return true;
    if (ids.size > 0)
      for (const [id] of json.matchAll(/(?:sig|led)_[0-9a-z]+/g)) if (ids.has(id)) return true;
    return false;
  };
}
