import { readFileSync } from 'node:fs';
import { inPackage } from '../lib/package.ts';
import type { Odds } from './judge.ts';

/**
 * What the words and pairs of neighbouring words of a post say about its author's intent, beyond the named features. It costs
 * little, so it helps decide which posts are encoded (`mayBeWish`), and counts a little beside the encoder (`meaningOdds`).
 */
export interface Wording {
  /** Log-odds to add to those of the named features; 0 for an average post. */
  oddsOf(stems: readonly string[]): Odds;
}

export const WORDING_FILE = inPackage('data/models/wording.bin');

/** Words and pairs share these places by their hash. */
export const WORDING_PLACES = 2 ** 16;
/** Two steps and two centres. */
const HEADER_NUMBERS = 4;
const HEADER_BYTES = 4 * HEADER_NUMBERS;
/** Only the first words of longer posts are read. */
const MOST_WORDS = 1_000;

/** The places of a post's words and pairs, each once. */
export function placesOf(stems: readonly string[]): Set<number> {
  const places = new Set<number>();
  const last = Math.min(stems.length, MOST_WORDS);
  let before = 0;
  for (let i = 0; i < last; i++) {
    const word = hashOf(stems[i] as string);
    places.add(mixed(word));
    if (i > 0) places.add(mixed(Math.imul(before, 0x9e3779b1) ^ word));
    before = word;
  }
  return places;
}

/** FNV-1a. */
function hashOf(word: string): number {
  let value = 2_166_136_261;
  for (let i = 0; i < word.length; i++) value = Math.imul(value ^ word.charCodeAt(i), 16_777_619);
  return value;
}

function mixed(value: number): number {
  const once = Math.imul(value ^ (value >>> 15), 2_246_822_519);
  return (once ^ (once >>> 13)) & (WORDING_PLACES - 1);
}

/**
 * The file has, as 32-bit floats, the steps of both questions and their centres; then a byte for each place, for hot, and for
 * hot and warm.
 *
 * @throws Error if the file has another length
 */
export function createWording(bytes: Uint8Array): Wording {
  if (bytes.length !== HEADER_BYTES + 2 * WORDING_PLACES)
    throw new Error(`wording.bin has ${bytes.length} bytes instead of ${HEADER_BYTES + 2 * WORDING_PLACES}`);
  const own = Uint8Array.from(bytes).buffer; // floats need an aligned start
  const [hotStep = 0, warmStep = 0, hotCentre = 0, warmCentre = 0] = new Float32Array(own, 0, HEADER_NUMBERS);
  const hot = new Int8Array(own, HEADER_BYTES, WORDING_PLACES);
  const warm = new Int8Array(own, HEADER_BYTES + WORDING_PLACES, WORDING_PLACES);
  return {
    oddsOf(stems) {
      const places = placesOf(stems);
      let [hotSum, warmSum] = [0, 0];
      for (const place of places) {
        hotSum += hot[place] as number;
        warmSum += warm[place] as number;
      }
      const length = Math.sqrt(Math.max(1, places.size));
      return {
        hot: (hotSum * hotStep) / length - hotCentre,
        warm: (warmSum * warmStep) / length - warmCentre,
      };
    },
  };
}

let known: Wording | null = null;

/** The weights that ship with the encoder; the first call reads them. @throws Error if they are incomplete */
export function knownWording(): Wording {
  known ??= createWording(readFileSync(WORDING_FILE));
  return known;
}
