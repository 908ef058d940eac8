import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { largestOf } from '../lib/lists.ts';
import { inPackage } from '../lib/package.ts';
import type { Encoder } from './encoder/encoder.ts';
import type { Lesson } from './lesson.ts';

/** What a profile sells, to be held against what posts want by meaning. */
export interface Offer {
  text: string;
  /** What the tenant's judgements taught; null: nothing yet. */
  lesson: Lesson | null;
  /** Encoded when they are first needed, once for each version of its profile. */
  numbers(encoder: Pick<Encoder, 'encode'>): Promise<OfferNumbers>;
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
  let numbers: Promise<OfferNumbers> | null = null;
  return {
    text,
    lesson,
    numbers(encoder) {
      if (numbers === null) {
        const asked = encodeOffer(offer, phrases.length === 0 ? null : described, encoder);
        // A thread that broke, or a server that stops: the next post asks again.
        asked.catch(() => {
          if (numbers === asked) numbers = null;
        });
        numbers = asked;
      }
      return numbers;
    },
  };
}

async function encodeOffer(
  offer: string,
  described: string | null,
  encoder: Pick<Encoder, 'encode'>,
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

/** Cosine, as numbers are of length 1. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
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

const nearest = createNearest(readKnownOffers, ({ offer, short }) => [offer, short]);

/** The known offers closest to an offer in meaning, best first. */
export async function nearestOffers(
  offer: string,
  encoder: Pick<Encoder, 'encode'>,
  count: number,
): Promise<NearOffer[]> {
  const near = await nearest(offer, encoder);
  return near.slice(0, count).map(({ item: known, likeness }) => ({ known, likeness }));
}

let encoded: Promise<readonly Float32Array[]> | null = null;

/** What the known offers mean, in their order. Found out at the first call, which takes about a second, and kept. */
export function knownNumbers(encoder: Pick<Encoder, 'encode'>): Promise<readonly Float32Array[]> {
  if (encoded === null) {
    const asked = Promise.all(readKnownOffers().map(({ offer }) => numbersOf(offer, encoder)));
    // A thread that broke, or a server that stops: the next post asks again.
    asked.catch(() => {
      if (encoded === asked) encoded = null;
    });
    encoded = asked;
  }
  return encoded;
}

/** One of what was compared, and how like the text it is: 1 is the same, below 0.5 hardly anything. */
export interface Near<Item> {
  item: Item;
  likeness: number;
}

/**
 * Compares a text with all items of a list by meaning, the likest first. What they mean is found out at the first call, which
 * takes about two seconds for 400, and kept.
 */
export function createNearest<Item>(
  read: () => readonly Item[],
  textsOf: (item: Item) => readonly string[],
): (text: string, encoder: Pick<Encoder, 'encode'>) => Promise<Near<Item>[]> {
  let encoded: Promise<{ item: Item; numbers: Float32Array[] }[]> | null = null;
  return async (text, encoder) => {
    encoded ??= Promise.all(
      read().map(async (item) => ({
        item,
        numbers: await Promise.all(textsOf(item).map((each) => numbersOf(each, encoder))),
      })),
    );
    encoded.catch(() => {
      encoded = null;
    });
    const [all, asked] = await Promise.all([encoded, numbersOf(text, encoder)]);
    return all
      .map(({ item, numbers }) => ({
        item,
        likeness: largestOf(numbers.map((each) => cosine(asked, each))),
      }))
      .sort((a, b) => b.likeness - a.likeness);
  };
}

/** What a text means to the encoder of offers. */
async function numbersOf(text: string, encoder: Pick<Encoder, 'encode'>): Promise<Float32Array> {
  return (await encoder.encode([text], 'offers')).numbers;
}

/** Of numbers at length 1. */
function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, i) => sum + number * (b[i] ?? 0), 0);
}
