import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford base 32: no i, l, o, u to misread
const TIME_CHARS = 9; // 45 bits of milliseconds reach the year 3084
const RANDOM_CHARS = 16; // 80 bits
const POOL_BYTES = 4096; // one system call for 256 ids: drawing 16 bytes each time was most of the cost of an id

/** Creates ids `<prefix>_<25 characters>` that sort by creation time. */
export type NewId = (prefix: string) => string;

/**
 * Creates an id generator. Ids of the same millisecond are in random order; 80 random bits make them unique.
 */
export function createIds(clock: Clock, random: Random): NewId {
  let pool: Buffer = Buffer.alloc(0);
  let offset = 0;
  let lastMs = -1;
  let timePart = '';

  return (prefix) => {
    const ms = clock.now();
    if (ms !== lastMs) {
      lastMs = ms;
      timePart = encodeTime(ms);
    }
    if (offset + RANDOM_CHARS > pool.length) {
      pool = random.bytes(POOL_BYTES);
      offset = 0;
    }
    let tail = '';
    for (let i = 0; i < RANDOM_CHARS; i++) tail += ALPHABET[(pool[offset + i] ?? 0) & 31];
    offset += RANDOM_CHARS;
    return `${prefix}_${timePart}${tail}`;
  };
}

/** An id that sorts before every id of `prefix` created at or after `ms`: the start of a time range. */
export function idFloor(prefix: string, ms: number): string {
  return `${prefix}_${encodeTime(Math.max(0, ms))}`;
}

function encodeTime(ms: number): string {
  let rest = ms;
  let text = '';
  for (let i = 0; i < TIME_CHARS; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
