import { createCipheriv, createHmac, createSecretKey } from 'node:crypto';
import type { Random } from './random.ts';
import { deriveKey } from './secret-box.ts';

/** Randomness that is the same for the same seed, and unpredictable without the key. */
export type SeededRandom = (seed: string) => Random;

const FRACTION_BYTES = 4;

/** A stream for each seed: AES-256-CTR of nothing, under a key made of the seed and `masterKey`. */
export function createSeededRandom(masterKey: Buffer): SeededRandom {
  const key = createSecretKey(deriveKey(masterKey, 'seeded-random'));
  return (seed) => {
    const streamKey = createHmac('sha256', key).update(seed).digest();
    const stream = createCipheriv('aes-256-ctr', streamKey, Buffer.alloc(16));
    const bytes = (size: number) => stream.update(Buffer.alloc(size));
    return { bytes, fraction: () => bytes(FRACTION_BYTES).readUInt32BE() / 2 ** 32 };
  };
}
