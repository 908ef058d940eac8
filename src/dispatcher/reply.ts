import type { AttemptRecord } from '../model/delivery.ts';

const READ_BYTES = 65_536;
const KEEP_BYTES = 16_384;

/** A reply as it comes in: its head whole, the first 16 KB of its body, and a count of what else was read. */
export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  /** Takes a piece of the body; false where enough was read and the connection should be cut. */
  add(chunk: Buffer): boolean;
  /** The record for the log. Bytes are read as UTF-8; a character cut by the limit is left out. */
  record(): NonNullable<AttemptRecord['response']>;
}

/** Bytes past the kept ones are counted and dropped at once, so that an endless reply costs no memory. */
export function createReply(status: number, headers: Record<string, string | string[]>): Reply {
  const chunks: Buffer[] = [];
  let kept = 0;
  let read = 0;
  return {
    status,
    headers,
    add(chunk) {
      read += chunk.length;
      if (kept < KEEP_BYTES) {
        // A copy: a slice would keep undici's whole read buffer alive for a few bytes of it.
        const piece = Buffer.from(chunk.subarray(0, KEEP_BYTES - kept));
        kept += piece.length;
        chunks.push(piece);
      }
      return read < READ_BYTES;
    },
    record() {
      return { status, headers, body: kept === 0 ? '' : textOf(chunks, read > kept) };
    },
  };
}

function textOf(chunks: readonly Buffer[], cut: boolean): string {
  const [first] = chunks;
  const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  // `stream` leaves out the bytes of an unfinished character instead of turning them into U+FFFD.
  return cut
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
    : bytes.toString();
}
