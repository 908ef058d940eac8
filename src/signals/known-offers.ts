import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { inPackage } from '../lib/package.ts';
import type { Encoder } from './encoder/encoder.ts';
import { createNearest, numbersOf } from './nearest.ts';

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
