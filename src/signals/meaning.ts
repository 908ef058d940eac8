import { largestOf } from '../lib/lists.ts';
import type { Encoder } from './encoder/encoder.ts';
import { type Encoded, shareOf } from './encoder/load-encoder.ts';
import { encoderOdds, leaning } from './model/judge.ts';
import { MODEL } from './model/learnt.ts';
import { OFFER_MODEL } from './model/offer-judge.ts';
import type { Offer } from './offer.ts';
import { addOfferMatches } from './offer-matches.ts';
import type { Hit } from './phrases.ts';
import { digestOf, digestParts } from './reading/digest.ts';
import { placeOf, type Sentence } from './reading/sentences.ts';
import { type CompiledProfile, generalOddsOf, hangsOnMeaning, mayBeWish, type PostReading } from './score.ts';

/** Profiles that a post may match, and where their phrases stand in it. */
type Candidates = readonly { compiled: CompiledProfile; hits: readonly Hit[] }[];

/** Turns texts into numbers. */
type Encode = Pick<Encoder, 'encode'>;

/** Of `candidates` the first `most` whose verdict on a post hangs on what the encoder makes of it. */
export function candidatesInDoubt<C extends Candidates[number]>(
  reading: PostReading,
  candidates: readonly C[],
  most = candidates.length,
): C[] {
  const found: C[] = [];
  for (const candidate of candidates) {
    if (found.length === most) break;
    if (hangsOnMeaning(reading, candidate.compiled, candidate.hits)) found.push(candidate);
  }
  return found;
}

/**
 * Adds what the encoder makes of a post, where that could change its class for any of the profiles; else the reading
 * stays as it is. Which posts are encoded hangs on post and profiles alone, never on how busy the server is.
 */
export async function addMeaning(
  reading: PostReading,
  candidates: Candidates,
  { encoder }: { encoder: Encode | null },
): Promise<PostReading> {
  if (encoder === null) return reading;
  const offers = mayBeWish(reading) ? candidates.flatMap(({ compiled }) => compiled.offer ?? []) : [];
  if (offers.length === 0 && candidatesInDoubt(reading, candidates, 1).length === 0) return reading;
  return await readMeaning(reading, offers, { encoder, nextTurn: async () => {} });
}

/** As {@link addMeaning}, for a post that is known to need it. It is held against offers where its author wants anything at all. */
export async function readMeaning(
  reading: PostReading,
  offers: readonly Offer[],
  { encoder, nextTurn }: { encoder: Encode; nextTurn: () => Promise<void> },
): Promise<PostReading> {
  const { judge, content, text } = reading;
  const digest = digestOf(content.outline.sentences, content.asks);
  const encoded = await encoder.encode(digestParts(text, digest));
  const odds = encoderOdds(judge, encoded.numbers, {
    centre: MODEL.encoderCentre,
    reach: MODEL.encoderReach,
  });
  const sign = odds.hot + odds.warm >= 0 ? 1 : -1;
  const place = placeOf(text, carrierOf(reading, digest, { encoded, sign }));
  const read = { ...reading, meaning: { odds, place } };
  if (offers.length === 0 || generalOddsOf(read).warm < OFFER_MODEL.leastIntent) return read;
  return await addOfferMatches(read, offers, { encoder, nextTurn });
}

/** The sentence that brings most to the encoder's share, in its direction. */
function carrierOf(
  { judge }: PostReading,
  digest: readonly Sentence[],
  { encoded, sign }: { encoded: Encoded; sign: 1 | -1 },
): Sentence | undefined {
  const weights = digest.map((_, part) => sign * leaning(judge, shareOf(encoded, part)));
  return digest[weights.indexOf(largestOf(weights))];
}
