import { fold } from '../lib/text.ts';
import { DEFAULT_WEIGHTS } from '../model/constants.ts';
import { DEFAULT_THRESHOLDS } from '../model/icp.ts';
import type { IcpDraft } from '../model/icp-draft.ts';
import { CATEGORIES, type Category } from './draft/categories.ts';
import { readIndustry } from './fit/industries.ts';
import { readPlace } from './fit/places.ts';
import { type Tokens, tokenize } from './tokens.ts';

/** What is known of who sells, beside the offer. */
export interface SellerFacts {
  name: string;
}

const MAX_DRAFTED_PHRASES = 40;
/** Words that sell and bind, and name nothing that anybody looks for. */
const EMPTY_WORDS = new Set(
  (
    'we our us i my you your they their it its a an the and or but for to of in on at by with from into as that this ' +
    'these those which who is are be been do does did make makes making sell sells selling offer offers offering ' +
    'provide provides providing build builds building help helps helping give gives need needs run runs running ' +
    'best great good better leading easy simple fast affordable cheap modern new all any every more most company ' +
    'companies business businesses team teams customer customers client clients people small medium large sized ' +
    'solution solutions service services product products based local online one who want wants so can will not'
  ).split(' '),
);
const PLACE =
  /\b(?:in|near|around|across|throughout)\s+((?:the\s+)?\p{Lu}[\p{L}.'-]*(?:,?\s+\p{Lu}[\p{L}.'-]*){0,3})/gu;
const AUDIENCE = /\bfor\s+([\p{L}\p{N} ,&-]{3,80})/giu;

/** Drafts a profile of who buys what is sold: from the words of the offer and what is known of its kind. Pure. */
export function draftFromOffer(offer: string, seller: SellerFacts | null): IcpDraft {
  const tokens = tokenize(offer);
  const kinds = CATEGORIES.filter(({ known }) => mentions(tokens, known));
  const own = ownPhrases(tokens, kinds);
  const vendors = kinds.flatMap((kind) => listOf(kind.vendors)).filter((name) => !isSeller(name, seller));
  const heads = [...own, ...kinds.flatMap((kind) => listOf(kind.phrases))];
  const asked = [
    ...heads.slice(0, 3).map((head) => `${head} recommendations`),
    ...heads.slice(0, 2).map((head) => `looking for ${head}`),
    ...vendors.slice(0, 4).map((vendor) => `${vendor} alternative`),
  ];
  return {
    name: nameOf(own, kinds, seller),
    description: '',
    offer,
    phrases: distinct([...heads.slice(0, MAX_DRAFTED_PHRASES - asked.length), ...asked]),
    excluded_phrases: ['for hire', 'we are hiring', 'class project'],
    competitors: distinct(vendors),
    industries: distinct([
      ...audienceIndustries(offer),
      ...kinds.flatMap((kind) => listOf(kind.industries ?? '')),
    ]),
    titles: distinct(kinds.flatMap((kind) => listOf(kind.titles))),
    headcount_ranges: [],
    locations: distinct(placesOf(offer)),
    signal_types: [],
    weights: { ...DEFAULT_WEIGHTS },
    thresholds: { ...DEFAULT_THRESHOLDS },
    active: true,
  };
}

function mentions(tokens: Tokens, known: string): boolean {
  const text = ` ${tokens.stems.join(' ')} `;
  return listOf(known).some((name) => text.includes(` ${tokenize(name).stems.join(' ')} `));
}

/** What the offer itself names: runs of words that say something, of three at most, those of known kinds left out. */
function ownPhrases(tokens: Tokens, kinds: readonly Category[]): string[] {
  const runs: string[][] = [[]];
  tokens.words.forEach((word, i) => {
    const parted = i > 0 && tokens.breaks[i] !== tokens.breaks[i - 1];
    if (parted || EMPTY_WORDS.has(word)) runs.push([]);
    if (!EMPTY_WORDS.has(word)) runs.at(-1)?.push(word);
  });
  const phrases = runs.filter((run) => run.length > 0).map((run) => run.slice(-3).join(' '));
  // A kind's list says it better; of an offer of no known kind its own words are all there is.
  return kinds.length > 0
    ? phrases.filter((phrase) => phrase.includes(' ')).slice(0, 2)
    : phrases.slice(0, 6);
}

function nameOf(own: readonly string[], kinds: readonly Category[], seller: SellerFacts | null): string {
  const sold = listOf(kinds[0]?.phrases ?? '')[0] ?? own[0] ?? 'offer';
  const buyers = `Buyers of ${sold}`;
  return (seller === null || seller.name === '' ? buyers : `${buyers} for ${seller.name}`)
    .slice(0, 100)
    .trim();
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

function listOf(text: string): string[] {
  return text === '' ? [] : text.split('|');
}

function distinct(terms: readonly string[]): string[] {
  const seen = new Set<string>();
  return terms.filter((term) => term !== '' && term.length <= 100 && seen.size < seen.add(fold(term)).size);
}
