import type { DraftQuestion } from '../../model/icp-draft.ts';
import { tokenize } from '../tokens.ts';

/** What people type to see what happens. */
const PLACEHOLDERS = new Set(
  'abc abcd xyz asdf qwer test testing tests foo bar baz blah bla lorem ipsum hello hi hey ok yes no na none nothing stuff things something anything everything'.split(
    ' ',
  ),
);
const KEYBOARD_ROWS = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm'].flatMap((row) => [
  row,
  [...row].reverse().join(''),
]);
/** More of a line says nothing that its beginning does not. */
const MOST_WORDS = 60;

/** Trades that software is sold to as well as their own work, and what their people are called. */
const TRADES: [words: RegExp, people: string, companies: string][] = [
  [/^plumb(?:er|ers|ing)$/, 'plumbers', 'plumbing companies'],
  [/^roof(?:er|ers|ing|s)?$/, 'roofers', 'roofing companies'],
  [/^(?:hvac|heating|furnaces?)$/, 'heating engineers', 'heating companies'],
  [/^(?:electricians?|electrical|rewiring)$/, 'electricians', 'electrical companies'],
  [/^(?:landscap(?:ers?|ing)|gardeners?|gardening|lawn)$/, 'landscapers', 'landscaping companies'],
  [/^(?:clean(?:ers?|ing)|janitorial)$/, 'cleaners', 'cleaning companies'],
  [/^(?:dentists?|dental)$/, 'dentists', 'dental practices'],
  [/^(?:lawyers?|legal|attorneys?)$/, 'lawyers', 'law firms'],
  [/^(?:bookkeep(?:er|ers|ing)|accountants?)$/, 'bookkeepers', 'accounting firms'],
  [/^realtors?$/, 'realtors', 'real estate agencies'],
  [/^restaurants?$/, 'restaurants', 'restaurants'],
];
/** What is sold is no trade, whatever trade it is sold to. */
export const IS_SOFTWARE =
  /\b(?:app|apps|software|saas|tool|platform|system|api|ai|automation|plugin|extension|notes|analytics|marketing|leads|website|websites|tracking)\b/iu;
/** An offer that says so itself needs no question. */
const SAYS_WHOM = /\b(?:for|aimed at|used by|made for|sold to|sell to|we are|we're|i am|i'm)\s/iu;

/** Whether a line names nothing that could be sold: keys struck at random, a placeholder, or words that fill only. */
export function namesNothing(offer: string, isEmptyWord: (word: string) => boolean): boolean {
  const words = tokenize(offer).words.slice(0, MOST_WORDS);
  return words.every((word) => isEmptyWord(word) || PLACEHOLDERS.has(word) || isGibberish(word));
}

/** No word of any language in Latin letters; of other scripts nothing is said. */
function isGibberish(word: string): boolean {
  if (!/^[a-z]{4,}$/.test(word)) return /^\d+$/.test(word) || /^[a-z]$/.test(word);
  if (/^([a-z]{1,3})\1{2,}$/.test(word)) return true;
  return /[^aeiouy]{6}/.test(word) || isKeyboardRun(word);
}

/** Whether it is runs of neighbouring keys from end to end: "asdf", "asdfqwer". */
function isKeyboardRun(word: string): boolean {
  let from = 0;
  while (from < word.length) {
    let length = word.length - from;
    while (length >= 3 && !KEYBOARD_ROWS.some((row) => row.includes(word.slice(from, from + length))))
      length--;
    if (length < 3) return false;
    from += length;
  }
  return true;
}

/** What to ask back about a line that names a trade and does not say whether it is the seller's or the buyer's. */
export function questionAbout(offer: string): DraftQuestion | null {
  const words = tokenize(offer).words.slice(0, MOST_WORDS);
  const trade = TRADES.find(([pattern]) => words.some((word) => pattern.test(word)));
  if (trade === undefined || SAYS_WHOM.test(offer)) return null;
  const [, people, companies] = trade;
  const line = offer.replace(/[.!?\s]+$/u, '').slice(0, 900);
  if (IS_SOFTWARE.test(offer)) {
    return {
      text: `Who buys it: ${people}, or people who look for ${people}?`,
      choices: [
        { label: `It is for ${people}`, offer: `${line}, for ${companies}` },
        { label: 'It is for their customers', offer: `${line}, for homes and businesses` },
      ],
    };
  }
  return {
    text: `Do you sell to ${people}, or are you one?`,
    choices: [
      { label: `We sell to ${people}`, offer: `${line}, for ${companies}` },
      { label: `We are ${people}`, offer: `${line}, for homes and businesses` },
    ],
  };
}
