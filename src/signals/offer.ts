import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { dot, largestOf } from '../lib/lists.ts';
import { inPackage } from '../lib/package.ts';
import { shared, standInLine } from '../lib/yielding.ts';
import type { Encoder, TextEncoding } from './encoder/encoder.ts';
import type { Lesson } from './lesson.ts';
import { knownNeeds, type MetNeeds } from './needs.ts';

/** The offer of a profile, to compare with posts by meaning. */
export interface Offer {
  text: string;
  /** The profile's lesson from judgements; null if there is none yet. */
  lesson: Lesson | null;
  /** The vectors of the offer, computed on first use, once per version of the profile. */
  numbers(encoder: TextEncoding): Promise<OfferNumbers>;
}

export interface OfferNumbers {
  /** The vector of the offer as written. */
  offer: Float32Array;
  /** The vector of the offer with the phrases of the profile, which are the words of buyers. */
  described: Float32Array;
  /** Indexes of the known offers of the same kind, which it does not compete with. */
  kin: readonly number[];
  /** The labelled needs that it meets. */
  met: MetNeeds;
}

/** The similarity of a post to an offer, and the sentence that contributes most (UTF-16 units). */
export interface OfferMatch {
  /** Cosine similarity of the offer to the post's most similar sentence. */
  sentence: number;
  /** Cosine similarity of the whole post to the offer with the phrases of its profile. */
  described: number;
  /** Similarity of the post to known offers of other kinds, by {@link rivalry}. */
  rivals: number;
  /** How much of what similar authors needed the offer meets, by {@link knownNeeds}. */
  needs: number;
  /** Log-odds that the profile's lesson adds. */
  learned: number;
  /** The vector of the post. */
  post: Float32Array;
  place: { start: number; end: number } | null;
}

/** The encoder reads only the beginning of a long offer, and of a long list of phrases. */
const [MAX_UNITS, MAX_DESCRIBED_UNITS] = [400, 800];
/** Known offers with at least this similarity are of the same kind. */
const KIN = 0.45;
const SHARPNESS = 16;

/** @returns null if the profile has no offer */
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

/**
 * Encodes on the first call and caches the result. Until it is there, each further work asks for the same texts, so
 * that they are encoded in the first turn of any of them: a single post would otherwise wait for the turn of a batch.
 * After a failure, such as of a thread, the next call tries again.
 */
function once<Result>(encode: (encoder: TextEncoding) => Promise<Result>) {
  let kept: Promise<Result> | null = null;
  let isDone = false;
  const askedBy = new WeakSet<TextEncoding>();
  return (encoder: TextEncoding): Promise<Result> => {
    if (kept !== null && isDone) return kept;
    if (kept !== null && askedBy.has(encoder)) return shared(kept);
    askedBy.add(encoder);
    const result = encode(encoder);
    kept = result;
    result.then(
      () => {
        isDone = true;
      },
      () => {
        if (kept === result) kept = null;
      },
    );
    return shared(result);
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
  await standInLine(); // a millisecond each: with a thousand profiles of equal offers, all at once
  const kin = known.flatMap((each, place) => (dot(own.numbers, each) >= KIN ? [place] : []));
  const met = knownNeeds().metBy(own.numbers);
  return { offer: own.numbers, described: (all ?? own).numbers, kin, met };
}

/**
 * Similarity of a post to the known offers, as a soft maximum. It is computed once per post, and then for
 * each profile without the offers of its kind. A post that is similar to many other offers is less likely to
 * want this one.
 */
export function rivalry(
  post: Float32Array,
  known: readonly Float32Array[],
): (without: readonly number[]) => number {
  const shares = known.map((each) => Math.exp(SHARPNESS * dot(each, post)));
  const all = shares.reduce((sum, share) => sum + share, 0);
  return (without) => {
    const rest = without.reduce((sum, place) => sum - (shares[place] ?? 0), all);
    // At least the value of an unrelated offer: a difference of sums may round to zero.
    return Math.log(Math.max(rest, 1)) / SHARPNESS;
  };
}

const linesSchema = z.array(z.string().min(1)).readonly();
const knownOfferSchema = z.strictObject({
  key: z.string().min(1),
  offer: z.string().min(1),
  /** The same in a few words. */
  short: z.string().min(1),
  /** Job titles of buyers. */
  titles: linesSchema,
  /** Vendors that buyers compare or want to leave. */
  competitors: linesSchema,
  /** Phrases that buyers use. */
  phrases: linesSchema,
});

/** A known kind of offer. There are four hundred, from help desks to pallets. */
export type KnownOffer = z.output<typeof knownOfferSchema>;

const FILE = inPackage('data/offers/known.jsonl');

/** @throws if a line is malformed */
export function readKnownOffers(): KnownOffer[] {
  const lines = readFileSync(FILE, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => knownOfferSchema.parse(JSON.parse(line)));
}

/** A known offer and its similarity to another: 1 is the same, below 0.5 is hardly related. */
export interface NearOffer {
  known: KnownOffer;
  likeness: number;
}

/** The vectors of the known offers, in order. The first call computes them, which takes about a second. */
export const knownNumbers = once((encoder) =>
  Promise.all(readKnownOffers().map(({ offer }) => numbersOf(offer, encoder))),
);

/**
 * Encodes the known offers ahead of the first post that is compared with an offer, which would wait for all of them.
 * Nothing else waits for this; if the encoder fails, the first post tries again.
 */
export async function prepareKnownOffers(encoder: Pick<Encoder, 'begin'>): Promise<void> {
  const work = encoder.begin({ owner: '', kind: 'source' });
  try {
    await knownNumbers(work);
  } catch {
    // That of the first post is reported.
  } finally {
    work.end();
  }
}

const nearest = createNearest(readKnownOffers, async (known, encoder) => {
  const [offers, shorts] = await Promise.all([
    knownNumbers(encoder),
    Promise.all(known.map(({ short }) => numbersOf(short, encoder))),
  ]);
  return offers.flatMap((offer, place) => (shorts[place] === undefined ? [] : [[offer, shorts[place]]]));
});

/** The known offers closest in meaning to an offer, best first. */
export async function nearestOffers(
  offer: string,
  encoder: TextEncoding,
  count: number,
): Promise<NearOffer[]> {
  const near = await nearest(offer, encoder);
  return near.slice(0, count).map(({ item: known, likeness }) => ({ known, likeness }));
}

/** An item and its similarity to a text: 1 is the same, below 0.5 is hardly related. */
export interface Near<Item> {
  item: Item;
  likeness: number;
}

/**
 * Compares a text with all items of a list by meaning, most similar first.
 *
 * @param numbersOfAll returns the vectors of each item, for one or more texts; called on the first
 * comparison, and cached
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

/**
 * The vector of a text from the offer encoder, with length 1, so that the dot product of two is their cosine
 * similarity.
 */
export async function numbersOf(text: string, encoder: TextEncoding): Promise<Float32Array> {
  return (await encoder.encode([text], 'offers')).numbers;
}
