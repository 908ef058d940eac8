import { randomBytes, randomInt } from 'node:crypto';

/** Randomness as a dependency, for jitter, ids and secrets. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** `size` unpredictable bytes. */
  bytes(size: number): Buffer;
}

/** The operating system's cryptographic random source. */
export const systemRandom: Random = {
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
  bytes: (size) => randomBytes(size),
};
