import { normalised } from '../lib/text.ts';

/** Stands for each character of what was taken out: lengths, and so the offsets of evidence, stay what they were. */
const MASK = '█';

/** Between the words of a name: in prose, and in an address that is made of it (`jane-doe`, `jane%20doe`). */
const BETWEEN_WORDS = '(?:[\\s\\p{Z}]+|[._+-]|%20)';

/**
 * Finds addresses, profiles (`linkedin.com/in/…`), ids and names where they are whole: `jane@acme.com` is not in
 * `mary-jane@acme.com`, nor in `jane@acme.com.au`, nor `Ann Lee` in `Ann Leeds`. Null for no texts.
 */
export function mentionPattern(texts: readonly string[], names: readonly string[] = []): RegExp | null {
  const alternatives = [...texts.map(alternativeOf), ...names.flatMap(alternativesOfName)];
  return alternatives.length === 0 ? null : new RegExp(alternatives.join('|'), 'giu');
}

/**
 * A quick look before the exact one, at a JSON text as it stands: true wherever {@link mentionPattern} would find anything
 * in its strings, and at times where it would not. Null for no texts.
 */
export function mentionHint(texts: readonly string[], names: readonly string[] = []): RegExp | null {
  const longest = (name: string) =>
    (name.match(/[\p{L}\p{M}]+/gu) ?? []).sort((a, b) => b.length - a.length).slice(0, 1);
  const words = [...texts, ...names.flatMap(spellingsOf).flatMap(longest)];
  return words.length === 0 ? null : new RegExp(words.map(escaped).join('|'), 'iu');
}

/** Whether a name tells one person from most others: two words or more, of letters. One alone is many people's. */
export function isFullName(name: string): boolean {
  return wordsOfName(name).filter((word) => /\p{L}\p{M}*\p{L}/u.test(word)).length >= 2;
}

function alternativesOfName(name: string): string[] {
  return spellingsOf(name).flatMap((spelling) => {
    const words = wordsOfName(spelling).map(escaped);
    const [first = '', last = ''] = words;
    const turned = words.length === 2 ? [`${last},[\\s\\p{Z}]*${first}`] : [];
    const orders = [words.join(BETWEEN_WORDS), ...turned];
    return orders.map((order) => `(?<![\\p{L}\\p{M}\\p{N}])${order}(?![\\p{L}\\p{M}\\p{N}])`);
  });
}

/** With accents, composed and not, and as it is typed where there are none. */
function spellingsOf(name: string): string[] {
  const plain = normalised(name, 'NFKD').replace(/[\u0300-\u036f]/gu, '');
  // As it was written, too: of an endless run of marks the other spellings have the beginning only.
  return [...new Set([name, normalised(name, 'NFC'), normalised(name, 'NFD'), plain])];
}

function wordsOfName(name: string): string[] {
  return name.split(/[\s\p{Z}]+/u).filter((word) => word !== '');
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');
}

function alternativeOf(text: string): string {
  return text.includes('@')
    ? `(?<![\\p{L}\\p{N}._%+-])${escaped(text)}(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])`
    : `(?<![\\p{L}\\p{N}_-])${escaped(text)}(?![\\p{L}\\p{N}_%-])`;
}

/** The text with every mention blacked out, as long as before in code points. */
export function maskMentions(text: string, pattern: RegExp): string {
  return text.replace(pattern, (mention) => MASK.repeat(Array.from(mention).length));
}

/** As {@link maskMentions}, in every string of a JSON text: its escapes would hide where a word begins. */
export function maskJson(json: string, pattern: RegExp): string {
  const masked: unknown = JSON.parse(json, (_, value: unknown) =>
    typeof value === 'string' ? maskMentions(value, pattern) : value,
  );
  return JSON.stringify(masked);
}

/** Whether a string of a JSON text mentions any of them. */
export function mentionsInJson(json: string, pattern: RegExp): boolean {
  return maskJson(json, pattern) !== JSON.stringify(JSON.parse(json));
}
