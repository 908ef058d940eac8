import type { Encoder } from './encoder/encoder.ts';
import type { Lesson } from './lesson.ts';

/** What a profile sells, to be held against what posts want by meaning. */
export interface Offer {
  text: string;
  /** What the tenant's judgements taught; null: nothing yet. */
  lesson: Lesson | null;
  /** Its numbers: encoded when they are first needed, once for each version of its profile. */
  numbers(encoder: Pick<Encoder, 'encode'>): Promise<Float32Array>;
}

/** How much what a post's author wants is like what is sold, and the sentence that says so most (UTF-16 units). */
export interface OfferMatch {
  /** Cosine of the offer and the whole post, and of the offer and the sentence that is likest to it. */
  whole: number;
  sentence: number;
  /** Log-odds that the profile's lesson adds. */
  learned: number;
  /** The post's own numbers. */
  post: Float32Array;
  place: { start: number; end: number } | null;
}

/** Of a long offer the encoder reads the beginning. */
const MAX_UNITS = 400;

/** @returns null where nothing is said of what is sold */
export function createOffer(text: string, lesson: Lesson | null = null): Offer | null {
  if (text === '') return null;
  let numbers: Promise<Float32Array> | null = null;
  return {
    text,
    lesson,
    numbers(encoder) {
      if (numbers === null) {
        const asked = encoder.encode([text.slice(0, MAX_UNITS)], 'offers').then((encoded) => encoded.numbers);
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
