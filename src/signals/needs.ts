import { readFileSync } from 'node:fs';
import { inPackage } from '../lib/package.ts';

/**
 * Needs of authors, from labelled and from made-up posts, each as two vectors of the offer encoder: how it is written, and
 * which offers meet it. They carry over what the encoder alone doesn't know: that posts like this one were for offers like
 * that one. Average precision of hot and warm on 51 unseen sellers: .41, without them .40; of the six given ones
 * .59, without .53 (scripts/train/README.md).
 */
export interface Needs {
  /** The needs that an offer meets, from its vector. */
  metBy(offer: Float32Array): MetNeeds;
  /**
   * Compares a post with all needs, and returns how much of what similar authors needed an offer meets: the logarithm
   * of its share, from -6.9 (nothing) to 0 (all of it).
   */
  likeIn(post: Float32Array): (met: MetNeeds) => number;
}

/** Indexes of needs that an offer meets, and how well: from 0 to 1. */
export interface MetNeeds {
  places: Uint16Array;
  shares: Float32Array;
}

export const NEEDS_FILE = inPackage('data/models/offers-l6-int8/needs.bin');
const WIDTH = 384;
/** The file has one byte per number; numbers of unit vectors of this width are below 0.5. */
export const NEED_STEPS = 254;
/** How fast a need counts less as its similarity to the post decreases. From 16 to 34 it makes no difference. */
const SHARPNESS = 22;
/** The similarity to an offer from which a need is more likely met than not, and how clear the border is. */
const [MEETS, BORDER] = [0.5, 20];
const LEAST_SHARE = 0.01;
/**
 * Every post is also this similar to one more need, of which every offer meets this share: a post unlike all known needs
 * says little about what its author needs.
 */
const [OTHERS, OTHERS_MET] = [0.4, 0.1];
const NOTHING = 0.001;

/**
 * The file has the vectors of the texts of all needs, then of their offers.
 *
 * @throws Error if the bytes are not those of at least one need
 */
export function createNeeds(bytes: Uint8Array): Needs {
  if (bytes.length === 0 || bytes.length % (2 * WIDTH) !== 0)
    throw new Error(`needs.bin has ${bytes.length} bytes: not a multiple of ${2 * WIDTH}`);
  const numbers = new Float32Array(new Int8Array(bytes));
  // Not with a function for each number, which takes 300 ms.
  for (let i = 0; i < numbers.length; i++) numbers[i] = (numbers[i] as number) / NEED_STEPS;
  const texts = numbers.subarray(0, numbers.length / 2);
  const offers = numbers.subarray(numbers.length / 2);
  return {
    metBy(offer) {
      const shares = [...similarities(offers, offer)].map(
        (likeness) => 1 / (1 + Math.exp(-BORDER * (likeness - MEETS))),
      );
      const places = [...shares.keys()].filter((place) => (shares[place] ?? 0) >= LEAST_SHARE);
      return {
        places: Uint16Array.from(places),
        shares: Float32Array.from(places, (place) => shares[place] ?? 0),
      };
    },
    likeIn(post) {
      const weights = similarities(texts, post).map((likeness) => Math.exp(SHARPNESS * (likeness - 1)));
      const others = Math.exp(SHARPNESS * (OTHERS - 1));
      const sum = weights.reduce((all, each) => all + each, others);
      return ({ places, shares }) => {
        let share = others * OTHERS_MET;
        for (let i = 0; i < places.length; i++) share += (weights[places[i] ?? 0] ?? 0) * (shares[i] ?? 0);
        return Math.log(share / sum + NOTHING);
      };
    },
  };
}

/**
 * Cosine similarities of a unit vector to all `vectors`, which follow each other. Adds up four sums, which takes half
 * the time of one.
 */
function similarities(vectors: Float32Array, to: Float32Array): Float64Array {
  const vector = new Float32Array(WIDTH);
  vector.set(to);
  const found = new Float64Array(vectors.length / WIDTH);
  for (let need = 0; need < found.length; need++) {
    const at = need * WIDTH;
    let [one, two, three, four] = [0, 0, 0, 0];
    for (let i = 0; i < WIDTH; i += 4) {
      one += (vectors[at + i] as number) * (vector[i] as number);
      two += (vectors[at + i + 1] as number) * (vector[i + 1] as number);
      three += (vectors[at + i + 2] as number) * (vector[i + 2] as number);
      four += (vectors[at + i + 3] as number) * (vector[i + 3] as number);
    }
    found[need] = one + two + three + four;
  }
  return found;
}

let known: Needs | null = null;

/** The needs that ship with the encoder; the first call reads them. */
export function knownNeeds(): Needs {
  known ??= createNeeds(readFileSync(NEEDS_FILE));
  return known;
}
