import { fold, normalised } from '../lib/text.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { Lead } from '../model/lead.ts';
import type { Signal } from '../model/signal.ts';

const MAX_WORD_CHARS = 40;

/**
 * Letters and digits, optionally followed by `+` or `#` (C++, C#), or one character of a script without
 * spaces between words, where phrases of single characters are matched.
 */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{N}])+(?:[+#]+(?![\p{L}\p{N}]))?/gu;
const ASCII_WORD = /[a-z0-9]+(?:[+#]+(?![a-z0-9]))?/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is "all of ASCII"
const ASCII_ONLY = /^[\x00-\x7f]*$/;
/**
 * Letters that Unicode does not decompose into base and mark, although people often type them without the
 * mark.
 */
const UNDECOMPOSED: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/**
 * The words of a text for indexing and search: lower case, without diacritics, English plurals as singulars.
 */
export function wordsOf(text: string): string[] {
  const lower = text.toLowerCase();
  const words = ASCII_ONLY.test(lower) ? lower.match(ASCII_WORD) : foldLetters(lower).match(WORD);
  return (words ?? []).map(normalForm);
}

/**
 * Splits a search into phrases that must all occur: single words, and quoted or joined words ("follow-up", a
 * URL) as one phrase. Empty if it contains no words.
 */
export function phrasesOf(asked: string): string[][] {
  const chunks = asked.matchAll(/"([^"]*)"?|[^\s"]+/gu);
  return Array.from(chunks, ([whole, quoted]) => wordsOf(quoted ?? whole)).filter(
    (words) => words.length > 0,
  );
}

/** Whether each of `phrases` ({@link phrasesOf}) occurs in one of the fields. */
export function holdsPhrases(fields: readonly string[], phrases: readonly string[][]): boolean {
  const texts = fields.map((field) => ` ${wordsOf(field).join(' ')} `);
  return phrases.every((words) => texts.some((text) => text.includes(` ${words.join(' ')} `)));
}

/** The searchable words of a lead, each once. */
export function leadWords({ name, email, title, company }: Lead): Set<string> {
  return new Set([name, email, title, company.name, company.domain].flatMap(wordsOf));
}

function foldLetters(lower: string): string {
  return normalised(lower, 'NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßæœøłđðþı]/g, (letter) => UNDECOMPOSED[letter] ?? letter);
}

function normalForm(word: string): string {
  const form = word.endsWith('s') ? singular(word) : word;
  return form.length <= MAX_WORD_CHARS ? form : form.slice(0, MAX_WORD_CHARS);
}

/**
 * Maps English plurals to singulars (Harman's S-stemmer, 1991): "agencies" to "agency", "plumbers" to
 * "plumber".
 */
function singular(word: string): string {
  if (word.length < 4) return word;
  if (word.endsWith('ies')) return /[ae]ies$/.test(word) ? word : `${word.slice(0, -3)}y`;
  if (word.endsWith('es')) return /[aeo]es$/.test(word) ? word : word.slice(0, -1);
  return /[us]s$/.test(word) ? word : word.slice(0, -1);
}

/** The form of a profile name for comparison: names are unique per tenant, ignoring case. */
export function profileNameKey(name: string): string {
  return normalised(name, 'NFKC').toLowerCase();
}

/** The form of a source name for comparison. */
export function sourceNameKey(name: string): string {
  return fold(name);
}

/** Number of terms that each post is searched for. Plans limit it. */
export function phraseCount({ phrases, excludedPhrases, competitors }: IcpProfile): number {
  return phrases.length + excludedPhrases.length + competitors.length;
}

/**
 * Facts about the author and the company that are searchable in addition to the text; unknown ones are
 * omitted.
 */
export function searchedFacts({
  prospect,
  company,
}: Partial<Pick<Signal, 'prospect' | 'company'>>): string[] {
  const facts = [prospect?.name, prospect?.title, prospect?.email];
  return [...facts, company?.name, company?.domain, company?.industry, company?.location].filter(
    (fact): fact is string => fact !== undefined && fact !== '',
  );
}
