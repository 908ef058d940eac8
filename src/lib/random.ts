import { randomBytes, randomInt } from 'node:crypto';

/** Chance as a dependency: jitter, ids and secrets all draw from here. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** `size` unpredictable bytes. */
  bytes(size: number): Buffer;
}

/** The operating system's cryptographic source. */
export const systemRandom: Random = {
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
  bytes: (size) => randomBytes(size),
};
