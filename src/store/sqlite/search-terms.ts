/**
 * The words of the full-text index `signal_search`. We cut them ourselves, and FTS5 splits at spaces alone: each term
 * begins with its tenant's mark, so that a tenant's search reads nothing of other tenants, however common the word is
 * there; and what a list can be filtered by is a term too (`#platform:reddit`), so that words and filters together are
 * one walk along a few sorted lists.
 */

/** What of a signal is searched and filtered by. */
export interface SearchableSignal {
  tenantId: string;
  profileId: string;
  platform: string;
  signalType: string;
  classification: string;
  score: number;
  companyDomain: string;
  text: string;
  /** Of people and company. */
  facts: readonly string[];
}

export type FilterName = 'platform' | 'icp' | 'type' | 'class' | 'domain' | 'score' | 'decade';

const MAX_WORD_CHARS = 40;
/** Stands between fields, so that no phrase reaches from one into the next. */
const FIELD_GAP = '|';

/**
 * A run of letters and digits with a closing `+` or `#` (C++, C#), or one character of a script that puts no spaces
 * between words: those are found as phrases of single characters.
 */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{N}])+(?:[+#]+(?![\p{L}\p{N}]))?/gu;
const ASCII_WORD = /[a-z0-9]+(?:[+#]+(?![a-z0-9]))?/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is "all of ASCII"
const ASCII_ONLY = /^[\x00-\x7f]*$/;
/** Letters that Unicode does not take apart into a base and a mark, though people leave the mark out when they type. */
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

/** The words of a text as they are indexed and looked for: lower case, no diacritics, English plurals as singulars. */
export function wordsOf(text: string): string[] {
  const lower = text.toLowerCase();
  const words = ASCII_ONLY.test(lower) ? lower.match(ASCII_WORD) : foldLetters(lower).match(WORD);
  return (words ?? []).map(normalForm);
}

/** The term under which signals of `tenantId` with that value of a filter are found. */
export function filterTerm(tenantId: string, name: FilterName, value: string | number): string {
  const text = typeof value === 'number' ? String(value) : encodeURIComponent(value.toWellFormed());
  return `${tenantMark(tenantId)}#${name}:${text}`;
}

/**
 * What a person asks for, as phrases of terms that must all occur: words stand alone, what is quoted or grown together
 * ("follow-up", an address) is one phrase. Empty where nothing in it can be looked for.
 */
export function searchPhrases(tenantId: string, asked: string): string[] {
  const mark = tenantMark(tenantId);
  const chunks = asked.matchAll(/"([^"]*)"?|[^\s"]+/gu);
  const phrases = Array.from(chunks, ([whole, quoted]) =>
    wordsOf(quoted ?? whole)
      .map((word) => mark + word)
      .join(' '),
  );
  return [...new Set(phrases.filter((phrase) => phrase !== ''))];
}

/** Everything a signal is found by, as the index takes it: terms with spaces between them. */
export function signalTerms(signal: SearchableSignal): string {
  const mark = tenantMark(signal.tenantId);
  // One string that grows, as half of a signal's way into the index is spent here.
  let terms = filterTermsOf(signal).join(' ');
  const add = (field: string) => {
    terms += ` ${FIELD_GAP}`;
    for (const word of wordsOf(field)) terms += ` ${mark}${word}`;
  };
  add(signal.text);
  signal.facts.forEach(add);
  return terms;
}

function filterTermsOf(signal: SearchableSignal): string[] {
  const term = (name: FilterName, value: string | number) => filterTerm(signal.tenantId, name, value);
  return [
    term('platform', signal.platform),
    term('icp', signal.profileId),
    term('type', signal.signalType),
    term('class', signal.classification),
    term('score', signal.score),
    term('decade', Math.floor(signal.score / 10)),
    ...(signal.companyDomain === '' ? [] : [term('domain', signal.companyDomain)]),
  ];
}

/** The whole id: neighbours in the index share their beginning, which is stored once a page. */
function tenantMark(tenantId: string): string {
  return `${tenantId}~`;
}

function foldLetters(lower: string): string {
  return lower
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßæœøłđðþı]/g, (letter) => UNDECOMPOSED[letter] ?? letter);
}

function normalForm(word: string): string {
  const form = word.endsWith('s') ? singular(word) : word;
  return form.length <= MAX_WORD_CHARS ? form : form.slice(0, MAX_WORD_CHARS);
}

/** Plural and singular alike (Harman's S-stemmer, 1991): "agencies" and "agency", "plumbers" and "plumber". */
function singular(word: string): string {
  if (word.length < 4) return word;
  if (word.endsWith('ies')) return /[ae]ies$/.test(word) ? word : `${word.slice(0, -3)}y`;
  if (word.endsWith('es')) return /[aeo]es$/.test(word) ? word : word.slice(0, -1);
  return /[us]s$/.test(word) ? word : word.slice(0, -1);
}
