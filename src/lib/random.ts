import { randomBytes, randomInt } from 'node:crypto';

/** Randomness as a dependency, for jitter, ids and secrets. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** `size` unpredictable bytes. */
  bytes(size: number): Buffer;
}

/** Bytes drawn from the system at once: the ID of each request, one by one, took 4 % of the CPU time of health checks. */
const DRAWN_AT_ONCE = 4_096;
let drawn: Buffer = Buffer.alloc(0);

function draw(size: number): Buffer {
  if (size > DRAWN_AT_ONCE) return randomBytes(size);
  if (drawn.length < size) drawn = randomBytes(DRAWN_AT_ONCE);
  const bytes = Buffer.from(drawn.subarray(0, size));
  drawn.fill(0, 0, size); // may be a secret
  drawn = drawn.subarray(size);
  return bytes;
}

/** The operating system's cryptographic random source. */
export const systemRandom: Random = {
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
  bytes: draw,
};
