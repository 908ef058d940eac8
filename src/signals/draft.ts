import { z } from 'zod';
import { fold } from '../lib/text.ts';
import { readWordTable, wordsSchema } from '../lib/word-table.ts';
import { DEFAULT_WEIGHTS } from '../model/constants.ts';
import { DEFAULT_THRESHOLDS } from '../model/icp.ts';
import type { IcpDraft } from '../model/icp-draft.ts';
import { IS_SOFTWARE } from './draft/line.ts';
import { readIndustry } from './fit/facts.ts';
import { readPlace } from './fit/places.ts';
import type { KnownOffer } from './known-offers.ts';
import { type Tokens, tokenize } from './tokens.ts';

const categorySchema = z.strictObject({
  /** Words in an offer that identify the category. */
  known: wordsSchema,
  /** How people ask for it. */
  phrases: wordsSchema,
  /** Whom they compare or want to leave. */
  vendors: wordsSchema.default([]),
  /** Who buys it. */
  titles: wordsSchema,
  /** The industries that buy it, unless all do. */
  industries: wordsSchema.default([]),
  /** A trade or profession: software sold to it is another category. */
  isTrade: z.boolean().default(false),
});

/** What is sold, in the words of people who want it. */
type Category = z.output<typeof categorySchema>;

const CATEGORIES = readWordTable('categories', z.array(categorySchema));

/** What is known of who sells, beside the offer. */
export interface SellerFacts {
  name: string;
}

const MAX_DRAFTED_PHRASES = 40;
const MAX_DRAFTED_TITLES = 6;
/** Words that sell and bind, and name nothing that anybody looks for. */
const EMPTY_WORDS = new Set(
  (
    'we our us i my you your they their it its a an the and or but for to of in on at by with from into as that this ' +
    'these those which who is are be been do does did make makes making sell sells selling offer offers offering ' +
    'provide provides providing build builds building help helps helping give gives need needs run runs running ' +
    'best great good better leading easy simple fast affordable cheap modern new all any every more most company ' +
    'companies business businesses team teams customer customers client clients people small medium large sized ' +
    'solution solutions service services product products based local online one who want wants so can will not ' +
    'use uses used using app apps software tool tools platform system write get keep'
  ).split(' '),
);
/** Where an offer turns to its audience, whose words are not the buyers'. */
const AUDIENCE_BEGINS = /\s(?:for|aimed at|used by|made for|built for|to help|that helps?)\s/iu;
/** Kinds that are known by these alone are not meant where other words say what it is of: "Kubernetes cost monitoring". */
const LOOSE_WORDS = new Set(
  'monitoring logging analytics reporting dashboard hosting website inventory builder garden appointment'.split(
    ' ',
  ),
);
const PLACE =
  /\b(?:in|near|around|across|throughout)\s+((?:the\s+)?\p{Lu}[\p{L}.'-]*(?:,?\s+\p{Lu}[\p{L}.'-]*){0,3})/gu;
const AUDIENCE = /\bfor\s+([\p{L}\p{N} ,&-]{3,80})/giu;

/** What is known of offers that mean the same. */
type Known = Pick<KnownOffer, 'short' | 'phrases' | 'competitors' | 'titles'>;

/**
 * Drafts a profile of who buys what is sold: from the words of the offer and what is known of its kind, by its words and, where
 * `near` says so, by its meaning. Pure.
 */
export function draftFromOffer(
  offer: string,
  seller: SellerFacts | null,
  near: readonly Known[] = [],
): IcpDraft {
  const sold = tokenize(soldIn(offer));
  // What is known by meaning says it better than words that several kinds share.
  const kinds = near.length > 0 ? [] : CATEGORIES.filter((kind) => isOfKind(sold, kind, offer));
  const own = ownPhrases(sold, near.length + kinds.length > 0);
  const vendors = [
    ...near.flatMap(({ competitors }) => competitors),
    ...kinds.flatMap((kind) => kind.vendors),
  ].filter((name) => !isSeller(name, seller) && !isNamed(offer, name));
  const heads = [...own, ...near.flatMap(({ phrases }) => phrases), ...kinds.flatMap((kind) => kind.phrases)];
  const asked = [...vendors.slice(0, 4).map((vendor) => `${vendor} alternative`)];
  return {
    name: nameOf(own, near[0]?.short ?? kinds[0]?.phrases[0], seller),
    description: '',
    offer,
    phrases: distinct([...heads.slice(0, MAX_DRAFTED_PHRASES - asked.length), ...asked]),
    excluded_phrases: ['for hire', 'we are hiring', 'class project'],
    competitors: distinct(vendors),
    industries: distinct([...audienceIndustries(offer), ...kinds.flatMap((kind) => kind.industries)]),
    titles: distinct([
      ...near.flatMap(({ titles }) => titles),
      ...kinds.flatMap((kind) => kind.titles),
    ]).slice(0, MAX_DRAFTED_TITLES),
    headcount_ranges: [],
    locations: distinct(placesOf(offer)),
    signal_types: [],
    weights: { ...DEFAULT_WEIGHTS },
    thresholds: { ...DEFAULT_THRESHOLDS },
    active: true,
  };
}

/** What is sold, without the audience. */
function soldIn(offer: string): string {
  const [sold = ''] = offer.split(AUDIENCE_BEGINS, 1);
  return wordsOf(tokenize(sold)).length > 0 ? sold : offer;
}

/** Whether an offer is of a kind: a trade is none that software is sold to. */
function isOfKind(sold: Tokens, { known, isTrade }: Category, offer: string): boolean {
  if (isTrade && (IS_SOFTWARE.test(offer) || isSoldTo(offer, known))) return false;
  const text = ` ${sold.stems.join(' ')} `;
  const others = wordsOf(sold).length - 1;
  return known.some(
    (name) => text.includes(` ${tokenize(name).stems.join(' ')} `) && !(LOOSE_WORDS.has(name) && others > 0),
  );
}

/** Whether a trade is the offer's audience: "Plumbing supplies, for plumbing companies". */
function isSoldTo(offer: string, known: readonly string[]): boolean {
  const [, ...audience] = offer.split(AUDIENCE_BEGINS);
  const text = ` ${tokenize(audience.join(' ')).stems.join(' ')} `;
  return known.some((name) => text.includes(` ${tokenize(name).stems.join(' ')} `));
}

/** Whether a word names nothing that anybody looks for. */
export function isEmptyWord(word: string): boolean {
  return EMPTY_WORDS.has(word);
}

/** The words that say something. */
function wordsOf({ words }: Tokens): string[] {
  return words.filter((word) => !EMPTY_WORDS.has(word));
}

/** What the offer itself names: runs of two or three words that say something. A kind's list says it better. */
function ownPhrases(tokens: Tokens, isKnown: boolean): string[] {
  const runs: string[][] = [[]];
  tokens.words.forEach((word, i) => {
    const parted = i > 0 && tokens.breaks[i] !== tokens.breaks[i - 1];
    if (parted || EMPTY_WORDS.has(word)) runs.push([]);
    if (!EMPTY_WORDS.has(word)) runs.at(-1)?.push(word);
  });
  // A word alone is as often in posts about something else, so that it makes no topic.
  const phrases = runs.filter((run) => run.length > 1).map((run) => endOf(run).join(' '));
  return phrases.slice(0, isKnown ? 2 : 6);
}

/** The last three words; a number stays with the word before it: "SOC 2". */
function endOf(run: readonly string[]): readonly string[] {
  const last = run.slice(-3);
  return run.length > 3 && /^\d+$/.test(last[0] ?? '') ? run.slice(-4) : last;
}

function nameOf(own: readonly string[], kind: string | undefined, seller: SellerFacts | null): string {
  const sold = kind ?? own[0] ?? 'offer';
  const buyers = `Buyers of ${sold}`;
  return (seller === null || seller.name === '' ? buyers : `${buyers} for ${seller.name}`)
    .slice(0, 100)
    .trim();
}

/** What is sold for a product is no rival of it: "Shopify development". */
function isNamed(offer: string, vendor: string): boolean {
  return ` ${tokenize(offer).stems.join(' ')} `.includes(` ${tokenize(vendor).stems.join(' ')} `);
}

function isSeller(vendor: string, seller: SellerFacts | null): boolean {
  return seller !== null && fold(vendor) === fold(seller.name);
}

function placesOf(offer: string): string[] {
  return [...offer.matchAll(PLACE)]
    .map(([, place = '']) => place.trim())
    .filter((place) => readPlace(place).length > 0);
}

/** Whom it is for, as far as that is an industry: "for dentists and law firms". */
function audienceIndustries(offer: string): string[] {
  const audiences = [...offer.matchAll(AUDIENCE)].flatMap(
    ([, audience = '']) =>
      audience.split(/\s(?:in|near|around|across|who|that|with)\s/u, 1)[0]?.split(/,|\band\b|&/u) ?? [],
  );
  return audiences
    .map((audience) => audience.trim())
    .filter((audience) => audience.length < 60 && readIndustry(audience).length > 0);
}

function distinct(terms: readonly string[]): string[] {
  const seen = new Set<string>();
  return terms.filter((term) => term !== '' && term.length <= 100 && seen.size < seen.add(fold(term)).size);
}
