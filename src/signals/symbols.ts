import { systemRandom } from '../lib/random.ts';

/**
 * The number of each word. Automata that read the same texts share it, so that the words of a text are looked
 * up once.
 */
export interface Symbols {
  /** 0 for a word without a number. */
  get(word: string): number;
  /** The number of a word, which gets the next one if it has none; the first is 1. */
  add(word: string): number;
  readonly size: number;
}

const SHARDS = 64;

/**
 * A map that is full is copied in one piece: a single one, of the million words that the profiles of a tenant can have, paused the process
 * for 0.18 s. Small tenants have few maps. With a seed, so that nobody can choose words that are all in one.
 */
export function createSymbols(): Symbols {
  const shards: (Map<string, number> | undefined)[] = Array.from({ length: SHARDS });
  const seed = Math.floor(systemRandom.fraction() * 2 ** 32);
  let size = 0;

  function shardOf(word: string): number {
    let bits = seed;
    for (let i = 0; i < word.length; i++) {
      bits = Math.imul(bits ^ word.charCodeAt(i), 0x85ebca6b);
      bits ^= bits >>> 13;
    }
    return bits & (SHARDS - 1);
  }

  return {
    get: (word) => shards[shardOf(word)]?.get(word) ?? 0,
    add(word) {
      const shard = shardOf(word);
      const words = shards[shard] ?? new Map<string, number>();
      shards[shard] = words;
      const known = words.get(word);
      if (known !== undefined) return known;
      words.set(word, ++size);
      return size;
    },
    get size() {
      return size;
    },
  };
}
