import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { largestOf } from '../lib/lists.ts';
import { inPackage } from '../lib/package.ts';
import type { Encoder } from './encoder/encoder.ts';

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

let encoded: Promise<{ known: KnownOffer; numbers: Float32Array[] }[]> | null = null;

/** The known offers that are most like an offer by meaning, the likest first. The first call takes about two seconds. */
export async function nearestOffers(
  offer: string,
  encoder: Pick<Encoder, 'encode'>,
  count: number,
): Promise<NearOffer[]> {
  encoded ??= Promise.all(
    readKnownOffers().map(async (known) => ({
      known,
      numbers: await Promise.all([known.offer, known.short].map((text) => numbersOf(text, encoder))),
    })),
  );
  encoded.catch(() => {
    encoded = null;
  });
  const [all, asked] = await Promise.all([encoded, numbersOf(offer, encoder)]);
  return all
    .map(({ known, numbers }) => ({
      known,
      likeness: largestOf(numbers.map((each) => cosine(asked, each))),
    }))
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, count);
}

async function numbersOf(text: string, encoder: Pick<Encoder, 'encode'>): Promise<Float32Array> {
  return (await encoder.encode([text], 'offers')).numbers;
}

/** Of numbers at length 1. */
function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, i) => sum + number * (b[i] ?? 0), 0);
}
