import { createHash } from 'node:crypto';
import type { NewId } from '../../src/lib/ids.ts';
import type { Random } from '../../src/lib/random.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Deterministic randomness, so that the results of a test can be stored and compared. */
export function createFixedRandom(seed: string): Random {
  let drawn = 0;
  const bytes = (size: number): Buffer => {
    const blocks: Buffer[] = [];
    for (let length = 0; length < size; length += 32) {
      blocks.push(createHash('sha256').update(`${seed} ${drawn++}`).digest());
    }
    return Buffer.concat(blocks).subarray(0, size);
  };
  return { bytes, fraction: () => bytes(4).readUInt32BE() / 2 ** 32 };
}

/** IDs independent of time: the n-th ID of a prefix is always the same, whatever others are created in between. */
export function createFixedIds(): NewId {
  const made = new Map<string, number>();
  return (prefix) => {
    const n = (made.get(prefix) ?? 0) + 1;
    made.set(prefix, n);
    const digest = createHash('sha256').update(`${prefix} ${n}`).digest();
    // In order of creation, like real IDs: lists sort by them.
    const head = `1m7z${String(n).padStart(5, '0')}`;
    return `${prefix}_${head}${[...digest.subarray(0, 16)].map((byte) => ALPHABET[byte & 31]).join('')}`;
  };
}
