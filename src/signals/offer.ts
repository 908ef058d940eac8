import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { dot, largestOf } from '../lib/lists.ts';
import { inPackage } from '../lib/package.ts';
import type { TextEncoding } from './encoder/encoder.ts';
import type { Lesson } from './lesson.ts';

/** What a profile sells, to be held against what posts want by meaning. */
export interface Offer {
  text: string;
  /** What the tenant's judgements taught; null: nothing yet. */
  lesson: Lesson | null;
  /** Encoded when they are first needed, once for each version of its profile. */
  numbers(encoder: TextEncoding): Promise<OfferNumbers>;
}

export interface OfferNumbers {
  /** Of the offer as it is written. */
  offer: Float32Array;
  /** Of the offer with the phrases of its profile: what those who want it write. */
  described: Float32Array;
  /** The known offers that are of its kind, by their place: what it does not compete with for a post. */
  kin: readonly number[];
}

/** How much what a post's author wants is like what is sold, and the sentence that says so most (UTF-16 units). */
export interface OfferMatch {
  /** Cosine of the offer and the whole post, and of the offer and the sentence that is likest to it. */
  whole: number;
  sentence: number;
  /** Cosine of the whole post and the offer with its profile's phrases. */
  described: number;
  /** How like the post known offers of other kinds are, by {@link rivalry}. */
  rivals: number;
  /** Log-odds that the profile's lesson adds. */
  learned: number;
  /** The post's own numbers. */
  post: Float32Array;
  place: { start: number; end: number } | null;
}

/** Of a long offer, and of a long list of phrases, the encoder reads the beginning. */
const [MAX_UNITS, MAX_DESCRIBED_UNITS] = [400, 800];
/** Known offers as like as that are of the same kind. */
const KIN = 0.45;
const SHARPNESS = 16;

/** @returns null where nothing is said of what is sold */
export function createOffer(
  { offer: text, phrases }: { offer: string; phrases: readonly string[] },
  lesson: Lesson | null = null,
): Offer | null {
  if (text === '') return null;
  const offer = text.slice(0, MAX_UNITS);
  const described = `${offer}. ${phrases.join(', ')}`.slice(0, MAX_DESCRIBED_UNITS);
  const numbers = once((encoder) => encodeOffer(offer, phrases.length === 0 ? null : described, encoder));
  return { text, lesson, numbers };
}

/** Encodes at the first call and keeps the result. After a failure (a thread that broke), the next call tries again. */
function once<Result>(encode: (encoder: TextEncoding) => Promise<Result>) {
  let kept: Promise<Result> | null = null;
  return (encoder: TextEncoding): Promise<Result> => {
    if (kept !== null) return kept;
    const result = encode(encoder);
    kept = result;
    result.catch(() => {
      if (kept === result) kept = null;
    });
    return result;
  };
}

async function encodeOffer(
  offer: string,
  described: string | null,
  encoder: TextEncoding,
): Promise<OfferNumbers> {
  const [own, all, known] = await Promise.all([
    encoder.encode([offer], 'offers'),
    described === null ? null : encoder.encode([described], 'offers'),
    knownNumbers(encoder),
  ]);
  const kin = known.flatMap((each, place) => (dot(own.numbers, each) >= KIN ? [place] : []));
  return { offer: own.numbers, described: (all ?? own).numbers, kin };
}

/**
 * How like a post the known offers are, as a soft maximum: asked once a post, and then for each profile without those of its
 * kind. A post that is like many other things is less likely to want this one.
 */
export function rivalry(
  post: Float32Array,
  known: readonly Float32Array[],
): (without: readonly number[]) => number {
  const shares = known.map((each) => Math.exp(SHARPNESS * dot(each, post)));
  const all = shares.reduce((sum, share) => sum + share, 0);
  return (without) => {
    const rest = without.reduce((sum, place) => sum - (shares[place] ?? 0), all);
    // At least what one that has nothing to do with it comes to: a difference of sums may round to nothing.
    return Math.log(Math.max(rest, 1)) / SHARPNESS;
  };
}

const linesSchema = z.array(z.string().min(1)).readonly();
const knownOfferSchema = z.strictObject({
  key: z.string().min(1),
  offer: z.string().min(1),
  /** The same in a few words. */
  short: z.string().min(1),
  /** Who buys it. */
  titles: linesSchema,
  /** Whom they compare or want to leave. */
  competitors: linesSchema,
  /** What people who want it write. */
  phrases: linesSchema,
});

/** What is known of a kind of offer: four hundred of them, from help desks to pallets. */
export type KnownOffer = z.output<typeof knownOfferSchema>;

const FILE = inPackage('data/offers/known.jsonl');

/** @throws where a line is not as it should be */
export function readKnownOffers(): KnownOffer[] {
  const lines = readFileSync(FILE, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => knownOfferSchema.parse(JSON.parse(line)));
}

/** A known offer, and how like another one it is: 1 is the same, below 0.5 hardly anything. */
export interface NearOffer {
  known: KnownOffer;
  likeness: number;
}

/** The numbers of the known offers, in their order. The first call encodes them, which takes about a second. */
export const knownNumbers = once((encoder) =>
  Promise.all(readKnownOffers().map(({ offer }) => numbersOf(offer, encoder))),
);

const nearest = createNearest(readKnownOffers, async (known, encoder) => {
  const [offers, shorts] = await Promise.all([
    knownNumbers(encoder),
    Promise.all(known.map(({ short }) => numbersOf(short, encoder))),
  ]);
  return offers.flatMap((offer, place) => (shorts[place] === undefined ? [] : [[offer, shorts[place]]]));
});

/** The known offers closest to an offer in meaning, best first. */
export async function nearestOffers(
  offer: string,
  encoder: TextEncoding,
  count: number,
): Promise<NearOffer[]> {
  const near = await nearest(offer, encoder);
  return near.slice(0, count).map(({ item: known, likeness }) => ({ known, likeness }));
}

/** One of what was compared, and how like the text it is: 1 is the same, below 0.5 hardly anything. */
export interface Near<Item> {
  item: Item;
  likeness: number;
}

/**
 * Compares a text with all items of a list by meaning, the most alike first.
 *
 * @param numbersOfAll each item's numbers, of one or more texts; called at the first comparison, and its result is kept
 */
export function createNearest<Item>(
  read: () => readonly Item[],
  numbersOfAll: (items: readonly Item[], encoder: TextEncoding) => Promise<(readonly Float32Array[])[]>,
): (text: string, encoder: TextEncoding) => Promise<Near<Item>[]> {
  const encoded = once(async (encoder) => {
    const items = read();
    const numbers = await numbersOfAll(items, encoder);
    return items.map((item, place) => ({ item, numbers: numbers[place] ?? [] }));
  });
  return async (text, encoder) => {
    const [all, own] = await Promise.all([encoded(encoder), numbersOf(text, encoder)]);
    return all
      .map(({ item, numbers }) => ({ item, likeness: largestOf(numbers.map((each) => dot(own, each))) }))
      .sort((a, b) => b.likeness - a.likeness);
  };
}

/** The numbers of a text from the encoder of offers, at length 1, so that a dot product is their cosine. */
export async function numbersOf(text: string, encoder: TextEncoding): Promise<Float32Array> {
  return (await encoder.encode([text], 'offers')).numbers;
}
