import { dot, largestOf } from '../lib/lists.ts';
import type { TextEncoding } from './encoder/encoder.ts';
import { type Encoded, shareOf } from './encoder/load-encoder.ts';
import { leaning, meaningOdds, OFFER_MODEL } from './judge.ts';
import { lessonOdds } from './lesson.ts';
import { knownNeeds, type MetNeeds } from './needs.ts';
import { knownNumbers, type Offer, type OfferMatch, type OfferNumbers, rivalry } from './offer.ts';
import type { Hit } from './phrases.ts';
import { digestOf, digestParts, placeOf, type Sentence } from './reading/sentences.ts';
import { type CompiledProfile, generalOddsOf, hangsOnMeaning, mayBeWish, type PostReading } from './score.ts';

/** Profiles that a post may match, and where their phrases occur in it. */
type Candidates = readonly { compiled: CompiledProfile; hits: readonly Hit[] }[];

/**
 * The first `most` of `candidates` whose result for a post depends on the encoder. `nextTurn` yields when due: a thousand profiles with
 * three hundred criteria each took 0.3 s.
 */
export async function candidatesInDoubt<C extends Candidates[number]>(
  reading: PostReading,
  candidates: readonly C[],
  { most, nextTurn }: { most: number; nextTurn: () => Promise<void> },
): Promise<C[]> {
  const found: C[] = [];
  for (const candidate of candidates) {
    if (found.length === most) break;
    if (hangsOnMeaning(reading, candidate.compiled, candidate.hits)) found.push(candidate);
    await nextTurn();
  }
  return found;
}

/**
 * Encodes a post if that could change its class for any of the profiles; otherwise returns the reading
 * unchanged. Whether a post is encoded depends only on the post and the profiles, never on the load.
 */
export async function addMeaning(
  reading: PostReading,
  candidates: Candidates,
  { encoder }: { encoder: TextEncoding | null },
): Promise<PostReading> {
  if (encoder === null) return reading;
  const nextTurn = async () => {};
  const offers = mayBeWish(reading) ? candidates.flatMap(({ compiled }) => compiled.offer ?? []) : [];
  const inDoubt =
    offers.length > 0 ? [] : await candidatesInDoubt(reading, candidates, { most: 1, nextTurn });
  if (offers.length === 0 && inDoubt.length === 0) return reading;
  return await readMeaning(reading, offers, { encoder, nextTurn });
}

/** Encodes a post unconditionally. It is compared with offers only if its author may want anything. */
export async function readMeaning(
  reading: PostReading,
  offers: readonly Offer[],
  { encoder, nextTurn }: { encoder: TextEncoding; nextTurn: () => Promise<void> },
): Promise<PostReading> {
  const { judge, content, text, wording } = reading;
  const digest = digestOf(content.outline.sentences, content.asks);
  const encoded = await encoder.encode(digestParts(text, digest));
  // One message of the encoder's thread answers many posts, which would all continue here in one piece.
  await nextTurn();
  const odds = meaningOdds(judge, encoded.numbers, wording);
  const sign = odds.hot + odds.warm >= 0 ? 1 : -1;
  const place = placeOf(text, carrierOf(reading, digest, { encoded, sign }));
  const read = { ...reading, meaning: { odds, place } };
  if (offers.length === 0 || generalOddsOf(read).warm < OFFER_MODEL.leastIntent) return read;
  return await addOfferMatches(read, offers, { encoder, nextTurn });
}

/** The sentence that contributes most to the encoder's result, in its direction. */
function carrierOf(
  { judge }: PostReading,
  digest: readonly Sentence[],
  { encoded, sign }: { encoded: Encoded; sign: 1 | -1 },
): Sentence | undefined {
  const weights = digest.map((_, part) => sign * leaning(judge, shareOf(encoded, part)));
  return digest[weights.indexOf(largestOf(weights))];
}

/**
 * Compares a post with offers: the post is encoded once for all of them, each offer once per version. Whether
 * a post is encoded depends only on the post.
 */
async function addOfferMatches(
  reading: PostReading,
  offers: readonly Offer[],
  { encoder, nextTurn }: { encoder: TextEncoding; nextTurn: () => Promise<void> },
): Promise<PostReading> {
  const matches = new Map<Offer, OfferMatch>();
  const { content, text } = reading;
  const digest = digestOf(content.outline.sentences, content.asks).slice(0, MAX_SENTENCES);
  const [post, numbers, known] = await Promise.all([
    encoder.encode(digestParts(text, digest), 'offers'),
    Promise.all(offers.map((offer) => offer.numbers(encoder))),
    knownNumbers(encoder),
  ]);
  await nextTurn();
  const rivals = rivalry(post.numbers, known);
  const needs = knownNeeds().likeIn(post.numbers);
  const sentences = digest.map((_, part) => unitOf(shareOf(post, part)));
  for (const [i, offer] of offers.entries()) {
    const own = numbers[i];
    if (own) matches.set(offer, matchOf(offer, own, { reading, post, rivals, needs, digest, sentences }));
    if (i % OFFERS_A_TURN === 0) await nextTurn();
  }
  return { ...reading, matches };
}

const MAX_SENTENCES = 12;
const OFFERS_A_TURN = 100;

interface ReadForOffers {
  reading: PostReading;
  post: Encoded;
  rivals: ReturnType<typeof rivalry>;
  needs: (met: MetNeeds) => number;
  digest: readonly Sentence[];
  /** By sentence, as unit vectors; null if the encoder read none of the sentence. */
  sentences: readonly (Float32Array | null)[];
}

function matchOf(
  { lesson }: Offer,
  { offer, described, kin, met }: OfferNumbers,
  { reading, post, rivals, needs, digest, sentences }: ReadForOffers,
): OfferMatch {
  const learned = lesson === null ? 0 : lessonOdds(lesson, post.numbers);
  let best = -1;
  let carrier: Sentence | undefined;
  for (const [i, sentence] of sentences.entries()) {
    const likeness = sentence === null ? -1 : dot(offer, sentence);
    if (likeness <= best) continue;
    best = likeness;
    carrier = digest[i];
  }
  return {
    ...{
      sentence: best,
      described: dot(described, post.numbers),
      rivals: rivals(kin),
      needs: needs(met),
      learned,
    },
    ...{ post: post.numbers, place: placeOf(reading.text, carrier) },
  };
}

function unitOf(share: Float32Array): Float32Array | null {
  const length = Math.hypot(...share);
  return length === 0 ? null : share.map((number) => number / length);
}
