import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { fold } from '../lib/text.ts';
import { readWordTable, wordsSchema } from '../lib/word-table.ts';
import { createYielder, inTurns } from '../lib/yielding.ts';
import type { Company } from '../model/company.ts';
import { DEFAULT_WEIGHTS, SAMPLE_PLATFORM } from '../model/constants.ts';
import { invalidAt } from '../model/errors.ts';
import { DEFAULT_THRESHOLDS } from '../model/icp.ts';
import type { DraftQuestion, DraftReview, IcpDraft } from '../model/icp-draft.ts';
import type { Signal } from '../model/signal.ts';
import type { CompanyStore } from '../store/company-store.ts';
import type { SignalStore } from '../store/signal-store.ts';
import type { Encoder, TextEncoding } from './encoder/encoder.ts';
import { readIndustry, readPlace } from './fit.ts';
import { type KnownOffer, nearestOffers } from './offer.ts';
import { compilePhrases } from './phrases.ts';
import { postKey } from './profiles.ts';
import { type Tokens, tokenize } from './tokens.ts';
import { tryOnPosts } from './trials.ts';

/** Offers with a lower similarity are of different kinds. */
const SAME_KIND = 0.55;
const MOST_KINDS = 2;

interface DraftDeps {
  store: CompanyStore & Pick<SignalStore, 'listPosts'>;
  clock: Clock;
  encoder?: Encoder | null;
}

/**
 * Drafts a profile from a sentence about what is sold and the known facts about the company at `domain`, with
 * notes on what to review before using it. Nothing is stored.
 * @throws DomainError `INVALID_REQUEST` if the line names nothing that can be sold, `UNAVAILABLE` if the
 * encoder failed or too many drafts are being tried
 */
export async function draftForSeller(
  { store, clock, encoder = null }: DraftDeps,
  tenantId: string,
  { offer, domain }: { offer: string; domain?: string | undefined },
): Promise<{ draft: IcpDraft; review: DraftReview }> {
  if (namesNothing(offer, isEmptyWord)) {
    throw invalidAt(
      '/offer',
      'That line names nothing we could look for. Say what you sell and to whom, such as "Scheduling software for heating engineers".',
    );
  }
  const [company, near] = await Promise.all([
    domain === undefined ? null : store.findCompany(tenantId, { domain }),
    encoder === null ? [] : kindsOf(offer, encoder),
  ]);
  const draft = draftFromOffer(offer, company === null ? null : { name: companyName(company.facts) }, near);
  return { draft, review: await reviewDraft({ store, clock }, tenantId, draft) };
}

/** Known offers with the same meaning. */
export async function kindsOf(offer: string, encoder: TextEncoding): Promise<KnownOffer[]> {
  const near = await nearestOffers(offer, encoder, MOST_KINDS);
  return near.filter(({ likeness }) => likeness >= SAME_KIND).map(({ known }) => known);
}

/** The company's current name: a manually set name takes precedence over an observed one. */
function companyName({ manual, observed }: Company['facts']): string {
  return manual.name?.value ?? observed.name?.value ?? '';
}

/** Number of signals to read: as many as for a preview of the maximum number of posts. */
const MOST_SIGNALS = 600;
const EXAMPLES = 2;

type ReviewDeps = Pick<DraftDeps, 'clock'> & { store: Pick<SignalStore, 'listPosts'> };

/**
 * Checks a draft against the newest stored posts: what its phrases find, what to ask, and what is missing.
 * Runs in short chunks.
 * @throws DomainError `UNAVAILABLE` if too many drafts are being tried
 */
export function reviewDraft(deps: ReviewDeps, tenantId: string, draft: IcpDraft): Promise<DraftReview> {
  return tryOnPosts(tenantId, () => reviewNow(deps, tenantId, draft));
}

async function reviewNow(
  { store, clock }: ReviewDeps,
  tenantId: string,
  draft: IcpDraft,
): Promise<DraftReview> {
  const phrases = draft.phrases.map((phrase) => ({
    phrase,
    posts: 0,
    examples: [] as DraftReview['phrases'][number]['examples'],
  }));
  const lists = { phrases: draft.phrases, competitors: [], excludedPhrases: [] };
  const matcher = await inTurns(compilePhrases([lists]));
  const nextTurn = createYielder(clock);
  const met = new Set<string>();
  for (const post of await store.listPosts(tenantId, MOST_SIGNALS)) {
    const key = postKey(post);
    if (post.platform === SAMPLE_PLATFORM || met.has(key)) continue;
    met.add(key);
    const hits = matcher.match(tokenize(post.text)).get(0) ?? [];
    for (const at of new Set(hits.filter(({ kind }) => kind === 'phrase').map(({ phrase }) => phrase))) {
      const found = phrases[at];
      if (found === undefined) continue;
      found.posts++;
      if (found.examples.length < EXAMPLES) {
        const { excerpt } = JSON.parse(post.wire) as Signal;
        found.examples.push({ signal_id: post.id, excerpt });
      }
    }
    await nextTurn();
  }
  return { posts_searched: met.size, phrases, question: questionAbout(draft.offer), notes: notesOn(draft) };
}

function notesOn({ phrases, competitors, titles }: IcpDraft): string[] {
  const notes: string[] = [];
  if (competitors.length === 0) {
    notes.push('We don’t know any competitors of yours. Add the names buyers compare you with.');
  }
  if (phrases.length === 0) {
    notes.push(
      'We don’t know any phrases that buyers use for this. Add the words they would write in a post.',
    );
  }
  if (titles.length === 0) notes.push('We don’t know who buys this. Add job titles, or leave them empty.');
  return notes;
}

const categorySchema = z.strictObject({
  /** Words in an offer that identify the category. */
  known: wordsSchema,
  /** Phrases that buyers use. */
  phrases: wordsSchema,
  /** Vendors that buyers compare or want to leave. */
  vendors: wordsSchema.default([]),
  /** Job titles of buyers. */
  titles: wordsSchema,
  /** Industries of buyers; empty if any industry buys it. */
  industries: wordsSchema.default([]),
  /** Further words that identify the category if the offer is aimed at one of `buyers`. */
  sold: wordsSchema.default([]),
  buyers: wordsSchema.default([]),
  /** Whether it is a trade or profession: software sold to it belongs to another category. */
  isTrade: z.boolean().default(false),
});

/** A category of products or services, in the words of its buyers. */
type Category = z.output<typeof categorySchema>;

const CATEGORIES = readWordTable('categories', z.array(categorySchema));

/** Known facts about the seller, besides the offer. */
export interface SellerFacts {
  name: string;
}

const MAX_DRAFTED_PHRASES = 40;
const MAX_DRAFTED_TITLES = 6;
/** Function words and marketing words that name nothing to look for. */
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
/** Where an offer starts to describe its audience, whose words are not those of buyers. */
const AUDIENCE_BEGINS = /\s(?:for|aimed at|used by|made for|built for|to help|that helps?)\s/iu;
/**
 * Words that do not identify a category if other words say what the offer is about: "Kubernetes cost
 * monitoring".
 */
const LOOSE_WORDS = new Set(
  'monitoring logging analytics reporting dashboard hosting website inventory builder garden appointment'.split(
    ' ',
  ),
);
const PLACE =
  /\b(?:in|near|around|across|throughout)\s+((?:the\s+)?\p{Lu}[\p{L}.'-]*(?:,?\s+\p{Lu}[\p{L}.'-]*){0,3})/gu;
const AUDIENCE = /\bfor\s+([\p{L}\p{N} ,&-]{3,80})/giu;

/** The facts of a known offer with the same meaning. */
type OfferFacts = Pick<KnownOffer, 'short' | 'phrases' | 'competitors' | 'titles'>;

/**
 * Drafts a profile of the buyers of an offer, from the words of the offer and what is known about its kind.
 * The kind is recognised by words or, with `near`, by meaning. Pure.
 */
export function draftFromOffer(
  offer: string,
  seller: SellerFacts | null,
  near: readonly OfferFacts[] = [],
): IcpDraft {
  const sold = tokenize(soldIn(offer));
  // A match by meaning is more precise than words that several kinds share.
  const kinds = near.length > 0 ? [] : kindsByWords(sold, offer);
  const own = ownPhrases(sold, near.length + kinds.length > 0);
  const isNamed = createNameTest(offer);
  const vendors = [
    ...near.flatMap(({ competitors }) => competitors),
    ...kinds.flatMap((kind) => kind.vendors),
  ].filter((name) => !isSeller(name, seller) && !isNamed(name));
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

/** The part of an offer that names what is sold, without the audience. */
function soldIn(offer: string): string {
  const [sold = ''] = offer.split(AUDIENCE_BEGINS, 1);
  return wordsOf(tokenize(sold)).length > 0 ? sold : offer;
}

/**
 * The audience can change the category: scheduling software for plumbers is compared with Jobber, any other
 * with Calendly.
 */
function kindsByWords(sold: Tokens, offer: string): Category[] {
  const forBuyers = CATEGORIES.filter((kind) => names(sold, kind.sold) && isSoldTo(offer, kind.buyers));
  return forBuyers.length > 0 ? forBuyers : CATEGORIES.filter((kind) => isOfKind(sold, kind, offer));
}

function names(said: Tokens, known: readonly string[]): boolean {
  const text = ` ${said.stems.join(' ')} `;
  return known.some((name) => text.includes(` ${tokenize(name).stems.join(' ')} `));
}

/** Whether an offer belongs to a category. Software that is sold to a trade does not belong to that trade. */
function isOfKind(sold: Tokens, { known, isTrade }: Category, offer: string): boolean {
  if (isTrade && (IS_SOFTWARE.test(offer) || isSoldTo(offer, known))) return false;
  const text = ` ${sold.stems.join(' ')} `;
  const others = wordsOf(sold).length - 1;
  return known.some(
    (name) => text.includes(` ${tokenize(name).stems.join(' ')} `) && !(LOOSE_WORDS.has(name) && others > 0),
  );
}

/** Whether a trade is the audience of an offer: "Plumbing supplies, for plumbing companies". */
function isSoldTo(offer: string, known: readonly string[]): boolean {
  const [, ...audience] = offer.split(AUDIENCE_BEGINS);
  return names(tokenize(audience.join(' ')), known);
}

/** Whether a word names nothing to look for. */
function isEmptyWord(word: string): boolean {
  return EMPTY_WORDS.has(word);
}

/** The words that carry meaning. */
function wordsOf({ words }: Tokens): string[] {
  return words.filter((word) => !EMPTY_WORDS.has(word));
}

/**
 * Phrases from the offer itself: runs of two or three meaningful words. Only two if its kind is known, as the
 * list of the kind is better.
 */
function ownPhrases(tokens: Tokens, isKnown: boolean): string[] {
  const runs: string[][] = [[]];
  tokens.words.forEach((word, i) => {
    const parted = i > 0 && tokens.breaks[i] !== tokens.breaks[i - 1];
    if (parted || EMPTY_WORDS.has(word)) runs.push([]);
    if (!EMPTY_WORDS.has(word)) runs.at(-1)?.push(word);
  });
  // A single word occurs as often in posts about other topics, so it is not a phrase.
  const phrases = runs.filter((run) => run.length > 1).map((run) => endOf(run).join(' '));
  return phrases.slice(0, isKnown ? 2 : 6);
}

/** The last three words. A number stays with the word before it: "SOC 2". */
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

/** A product that the offer is made for is not its competitor: "Shopify development". */
function createNameTest(offer: string): (vendor: string) => boolean {
  const said = ` ${tokenize(offer).stems.join(' ')} `;
  return (vendor) => said.includes(` ${tokenize(vendor).stems.join(' ')} `);
}

function isSeller(vendor: string, seller: SellerFacts | null): boolean {
  return seller !== null && fold(vendor) === fold(seller.name);
}

function placesOf(offer: string): string[] {
  return [...offer.matchAll(PLACE)]
    .map(([, place = '']) => place.trim())
    .filter((place) => readPlace(place).length > 0);
}

/** The audience of an offer, if it is an industry: "for dentists and law firms". */
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

/** Placeholder texts that people type to try a form. */
const PLACEHOLDERS = new Set(
  'abc abcd xyz asdf qwer test testing tests foo bar baz blah bla lorem ipsum hello hi hey ok yes no na none nothing stuff things something anything everything'.split(
    ' ',
  ),
);
const KEYBOARD_ROWS = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm'].flatMap((row) => [
  row,
  [...row].reverse().join(''),
]);
/** Only the beginning of a long line is read. */
const MOST_WORDS = 60;

/** Trades that both buy software and sell their own work, with the names of their people and companies. */
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
/** Offers of software are not trades, even if they are sold to one. */
const IS_SOFTWARE =
  /\b(?:app|apps|software|saas|tool|platform|system|api|ai|automation|plugin|extension|notes|analytics|marketing|leads|website|websites|tracking)\b/iu;
/** An offer that states its audience needs no question. */
const SAYS_WHOM = /\b(?:for|aimed at|used by|made for|sold to|sell to|we are|we're|i am|i'm)\s/iu;

/** Whether a line names nothing that can be sold: random keys, a placeholder, or only function words. */
export function namesNothing(offer: string, isEmptyWord: (word: string) => boolean): boolean {
  const words = tokenize(offer).words.slice(0, MOST_WORDS);
  return words.every((word) => isEmptyWord(word) || PLACEHOLDERS.has(word) || isGibberish(word));
}

/** Whether a word looks like none of a language in Latin letters; words in other scripts pass. */
function isGibberish(word: string): boolean {
  if (!/^[a-z]{4,}$/.test(word)) return /^\d+$/.test(word) || /^[a-z]$/.test(word);
  if (/^([a-z]{1,3})\1{2,}$/.test(word)) return true;
  return /[^aeiouy]{6}/.test(word) || isKeyboardRun(word);
}

/** Whether a word consists only of runs of neighbouring keys: "asdf", "asdfqwer". */
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

/**
 * The question to ask about a line that names a trade without saying whether it is that of the seller or of
 * the buyer.
 */
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
