import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford base 32: no i, l, o, u to misread
const TIME_CHARS = 9; // 45 bits of milliseconds reach the year 3084
const RANDOM_CHARS = 11; // 55 bits
const COUNT_CHARS = 5;
const COUNTS = 32 ** COUNT_CHARS;

/** Creates ids `<prefix>_<25 characters>` that sort by creation. */
export type NewId = (prefix: string) => string;

/**
 * Creates an id generator. Ids of the same millisecond have the same random bits, and count up from a random number. In random
 * order, the deliveries of one event would be spread over all its pages of every index: stored in several commits, each of which
 * wrote all of these pages, they took the writer a fifth more time.
 */
export function createIds(clock: Clock, random: Random): NewId {
  let lastMs = -1;
  let head = '';
  let count = 0;

  return (prefix) => {
    const ms = clock.now();
    if (ms !== lastMs || ++count === COUNTS) {
      lastMs = ms;
      const drawn = random.bytes(RANDOM_CHARS + 4);
      head = encode(ms, TIME_CHARS);
      for (let i = 0; i < RANDOM_CHARS; i++) head += ALPHABET[(drawn[i] ?? 0) & 31];
      // From the lower half: at least sixteen million follow.
      count = drawn.readUInt32BE(RANDOM_CHARS) % (COUNTS / 2);
    }
    return `${prefix}_${head}${encode(count, COUNT_CHARS)}`;
  };
}

/** An id that sorts before every id of `prefix` created at or after `ms`: the start of a time range. */
export function idFloor(prefix: string, ms: number): string {
  return `${prefix}_${encode(Math.max(0, ms), TIME_CHARS)}`;
}

function encode(value: number, chars: number): string {
  let rest = value;
  let text = '';
  for (let i = 0; i < chars; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
