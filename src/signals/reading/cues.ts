import { z } from 'zod';
import { readWordTable, wordsSchema } from '../../lib/word-table.ts';

/** The subject of a cue's verb: the author's side, the reader, a third party, or none. */
export type Subject = 'own' | 'reader' | 'other' | 'implied';

/** A named pattern over one masked sentence. */
export interface Cue {
  name: string;
  pattern: RegExp;
}

/**
 * A cue from its source, in which a space stands for any white space, and one with `?` for any or none. Lower case only,
 * as sentences are; no nested repetition, so that matching is linear.
 */
export function cue(name: string, ...sources: string[]): Cue {
  return {
    name,
    pattern: new RegExp(`(?:${sources.join('|')})`.replaceAll(' ?', '\\s*').replaceAll(' ', '\\s+')),
  };
}

const cuesSchema = z.record(z.string(), wordsSchema);
const TABLE = readWordTable(
  'cues',
  z.strictObject({
    wishes: cuesSchema,
    questions: cuesSchema,
    offers_to_buy: cuesSchema,
    objects: cuesSchema,
    speakers: cuesSchema,
    hearsay: cuesSchema,
    circumstances: cuesSchema,
  }),
);

/** Verbs of wanting, whose meaning depends on the subject: "we are looking for" asks, "are you looking for" sells. */
export const WISHES = cuesOf(TABLE.wishes);
/** Questions to the reader that ask for a thing, a supplier or a choice. */
export const QUESTIONS = cuesOf(TABLE.questions);
/** Plain words of buying and hiring that need no question. */
export const OFFERS_TO_BUY = cuesOf(TABLE.offers_to_buy);
/** What a request is for: the same verb with another object is another wish. */
export const OBJECTS = cuesOf(TABLE.objects);
/** Authors who do not ask, and what they are about. */
export const SPEAKERS = cuesOf(TABLE.speakers);
/** The wish is somebody else's, not the author's. */
export const HEARSAY = cuesOf(TABLE.hearsay);
/** The author's circumstances that make a purchase likely or urgent. */
export const CIRCUMSTANCES = cuesOf(TABLE.circumstances);

function cuesOf(table: z.output<typeof cuesSchema>): Cue[] {
  return Object.entries(table).map(([name, sources]) => cue(name, ...sources));
}

/** So far back a subject or a negation reaches. */
const REACH_UNITS = 48;
const OWN =
  /\b(?:i|we|i'm|im|we're|i've|we've|i'd|we'd|i'll|we'll|ive|us|me|(?:my|our) (?:[a-z-]+ )?[a-z-]+)\b/g;
const READER = /\b(?:you|you're|youre|you've|you'd|y'all|your)\b/g;
const OTHER =
  /\b(?:they|they're|he|she|he's|she's|people|anyone|anybody|someone|somebody|those|everyone|customers?|clients?|companies|businesses|users?|founders|owners|who|brands|sellers|buyers|employers|students|his|her|their|friends?|cousin|colleagues?|analysts|experts|article)\b/g;
const NEGATION =
  /\b(?:not|no longer|never|don't|dont|doesn't|didn't|isn't|aren't|wasn't|weren't|won't|wouldn't|without|nobody|no one|no|instead of|against|stopped|rather than|cannot|neither|nor|hardly)\b[^,;:.!?()]*$/;
/** Where the author begins anew, a denial before it ends: "support never answers and we are looking". */
const ANEW =
  /\b(?:and|but|so|because|hence|which is why) (?:now )?(?:i|we|i'm|we're|i've|we've|my|our|it's|it is)\b/;
/** "Can't find", "not sure which" and the like deny something else than the wish. */
const HARMLESS =
  /\b(?:not sure|not only|no idea|why not|if not|whether or not|not happy|no luck|no one here|don't know)\b/;

/** Whose the verb at `at` is: the last one named before it in its sentence. */
export function subjectAt(sentence: string, at: number): Subject {
  const before = sentence.slice(Math.max(0, at - REACH_UNITS), at);
  const places = { own: lastOf(OWN, before), reader: lastOf(READER, before), other: lastOf(OTHER, before) };
  const last = Math.max(places.own, places.reader, places.other);
  if (last === -1) return 'implied';
  if (last === places.own) return 'own';
  return last === places.reader ? 'reader' : 'other';
}

/** Whether the text at `at` is negated by a word before it in its clause. */
export function negatedAt(sentence: string, at: number): boolean {
  const before = sentence.slice(Math.max(0, at - REACH_UNITS), at);
  const found = NEGATION.exec(before);
  return found !== null && !HARMLESS.test(found[0]) && !ANEW.test(found[0]);
}

function lastOf(pattern: RegExp, text: string): number {
  let last = -1;
  for (const found of text.matchAll(pattern)) last = found.index;
  return last;
}
