import { largestOf } from '../lib/lists.ts';
import type { Encoder } from './encoder/encoder.ts';

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
export async function numbersOf(text: string, encoder: Pick<Encoder, 'encode'>): Promise<Float32Array> {
  return (await encoder.encode([text], 'offers')).numbers;
}

/** Of numbers at length 1. */
function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, i) => sum + number * (b[i] ?? 0), 0);
}
