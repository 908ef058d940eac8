import type { Encoder } from './encoder/encoder.ts';
import { encoderOdds } from './model/judge.ts';
import { MODEL } from './model/learnt.ts';
import type { Hit } from './phrases.ts';
import { digestOf, digestText } from './reading/digest.ts';
import type { Sentence } from './reading/sentences.ts';
import {
  type CompiledProfile,
  classify,
  hangsOnMeaning,
  type Meaning,
  type PostReading,
  scorePost,
} from './score.ts';

/** So many sentences are tried for the one that carries the meaning. */
const MAX_TRIED = 4;

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
  if (encoder === null || candidatesInDoubt(reading, candidates, 1).length === 0) return reading;
  return await readMeaning(reading, candidates, encoder);
}

/** As {@link addMeaning}, for a post that is known to need it. */
export async function readMeaning(
  reading: PostReading,
  candidates: Candidates,
  { encode }: Encode,
): Promise<PostReading> {
  const digest = digestOf(reading.content.outline.sentences, reading.content.asks);
  const odds = oddsFrom(reading, await encode(digestText(reading.text, digest)));
  const read = { ...reading, meaning: { odds, place: placeOf(reading, digest[0]) } };
  const isTold = candidates.some(({ compiled, hits }) => {
    const { score } = scorePost(read, compiled, hits);
    return classify(score, compiled.profile.thresholds) !== 'cold';
  });
  if (!isTold || digest.length < 2) return read;
  return { ...read, meaning: { odds, place: await findCarrier(reading, digest, { odds, encode }) } };
}

/** The sentence without which the encoder's share would be least in its direction. */
async function findCarrier(
  reading: PostReading,
  digest: readonly Sentence[],
  { odds, encode }: { odds: Meaning['odds']; encode(text: string): Promise<Float32Array> },
): Promise<Meaning['place']> {
  const sign = odds.hot + odds.warm >= 0 ? 1 : -1;
  let best: { sentence: Sentence; loss: number } | null = null;
  for (const sentence of digest.slice(0, MAX_TRIED)) {
    const rest = digest.filter((other) => other !== sentence);
    const without = oddsFrom(reading, await encode(digestText(reading.text, rest)));
    const loss = sign * (odds.hot + odds.warm - without.hot - without.warm);
    if (best === null || loss > best.loss) best = { sentence, loss };
  }
  return placeOf(reading, best?.sentence);
}

function oddsFrom({ judge }: PostReading, numbers: Float32Array): Meaning['odds'] {
  return encoderOdds(judge, numbers, { centre: MODEL.encoderCentre, reach: MODEL.encoderReach });
}

/** Without the blanks around it: sentences are cut where the one before them ends. */
function placeOf({ text }: PostReading, sentence: Sentence | undefined): Meaning['place'] {
  if (sentence === undefined) return null;
  const part = text.slice(sentence.start, sentence.end);
  const start = sentence.start + part.length - part.trimStart().length;
  return { start, end: start + part.trim().length };
}
