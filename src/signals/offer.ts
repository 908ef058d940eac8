import type { Encoder } from './encoder/encoder.ts';
import { knownNumbers } from './known-offers.ts';
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
