import type { Encoder } from './encoder/encoder.ts';
import { type Encoded, shareOf } from './encoder/load-encoder.ts';
import { lessonOdds } from './lesson.ts';
import type { Offer, OfferMatch } from './offer.ts';
import { digestOf, digestParts } from './reading/digest.ts';
import { placeOf, type Sentence } from './reading/sentences.ts';
import type { PostReading } from './score.ts';

/**
 * Holds a post against offers: it is encoded once for all of them, and each of them once a version. Which posts are encoded hangs on
 * the post alone.
 */
export async function addOfferMatches(
  reading: PostReading,
  offers: readonly Offer[],
  { encoder, nextTurn }: { encoder: Pick<Encoder, 'encode'>; nextTurn: () => Promise<void> },
): Promise<PostReading> {
  const matches = new Map<Offer, OfferMatch>();
  const { content, text } = reading;
  const digest = digestOf(content.outline.sentences, content.asks).slice(0, MAX_SENTENCES);
  const [post, numbers] = await Promise.all([
    encoder.encode(digestParts(text, digest), 'offers'),
    Promise.all(offers.map((offer) => offer.numbers(encoder))),
  ]);
  const sentences = digest.map((_, part) => unitOf(shareOf(post, part)));
  for (const [i, offer] of offers.entries()) {
    matches.set(offer, matchOf(offer, numbers[i] ?? post.numbers, { reading, post, digest, sentences }));
    if (i % OFFERS_A_TURN === 0) await nextTurn();
  }
  return { ...reading, matches };
}

const MAX_SENTENCES = 12;
const OFFERS_A_TURN = 100;

interface ReadForOffers {
  reading: PostReading;
  post: Encoded;
  digest: readonly Sentence[];
  /** By sentence, at length 1; null: the encoder read none of it. */
  sentences: readonly (Float32Array | null)[];
}

function matchOf(
  { lesson }: Offer,
  offer: Float32Array,
  { reading, post, digest, sentences }: ReadForOffers,
): OfferMatch {
  const whole = dot(offer, post.numbers);
  const learned = lesson === null ? 0 : lessonOdds(lesson, post.numbers);
  let best = -1;
  let carrier: Sentence | undefined;
  for (const [i, sentence] of sentences.entries()) {
    const likeness = sentence === null ? -1 : dot(offer, sentence);
    if (likeness <= best) continue;
    best = likeness;
    carrier = digest[i];
  }
  return { whole, sentence: best, learned, post: post.numbers, place: placeOf(reading.text, carrier) };
}

function unitOf(share: Float32Array): Float32Array | null {
  const length = Math.hypot(...share);
  return length === 0 ? null : share.map((number) => number / length);
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
