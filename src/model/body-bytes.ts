/**
 * A stored body: the bytes of a JSON object without its closing `signature` member, from `start` to `end` of `bytes`. Those
 * of one claim lie in one buffer, outside of the garbage collector's heap: they wait longer than most of what it moves.
 */
export interface BodyBytes {
  bytes: Buffer;
  start: number;
  end: number;
}

/** A body given as text. */
export function toBodyBytes(body: string): BodyBytes {
  const bytes = Buffer.from(body, 'utf8');
  return { bytes, start: 0, end: bytes.length };
}
