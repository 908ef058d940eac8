import { systemRandom } from './random.ts';

/**
 * The numbers of words or IDs. Automata that read the same texts share them, so that the words of a text are looked
 * up once.
 */
export interface Symbols {
  /** 0 for a word without a number. */
  get(word: string): number;
  /** The number of a word, which gets the next one if it has none; the first is 1. */
  add(word: string): number;
  readonly size: number;
}

/** Words in the first map, which is looked up without a hash of our own, as every word of every text is: few tenants have more. */
const FIRST_WORDS = 50_000;
const SHARDS = 64;

/**
 * A map that is full is copied in one piece: a single one, of the million words that the profiles of a tenant can have, paused the process
 * for 0.18 s. With a seed, so that nobody can choose words that are all in one of the further maps.
 */
export function createSymbols(): Symbols {
  const first = new Map<string, number>();
  const shards: Map<string, number>[] = [];
  const seed = Math.floor(systemRandom.fraction() * 2 ** 32);
  let size = 0;

  function shardOf(word: string): Map<string, number> {
    let bits = seed;
    for (let i = 0; i < word.length; i++) {
      bits = Math.imul(bits ^ word.charCodeAt(i), 0x85ebca6b);
      bits ^= bits >>> 13;
    }
    return shards[bits & (SHARDS - 1)] as Map<string, number>;
  }

  function get(word: string): number {
    return first.get(word) ?? (shards.length === 0 ? 0 : (shardOf(word).get(word) ?? 0));
  }

  return {
    get,
    add(word) {
      const known = get(word);
      if (known !== 0) return known;
      size++;
      if (size <= FIRST_WORDS) first.set(word, size);
      else {
        while (shards.length < SHARDS) shards.push(new Map());
        shardOf(word).set(word, size);
      }
      return size;
    },
    get size() {
      return size;
    },
  };
}
