import type { AttemptRecord } from '../model/delivery.ts';

const READ_BYTES = 65_536;
const KEEP_BYTES = 16_384;

/**
 * A reply as it comes in: its head whole, the first 16 KB of its body, and a count of what else was read. Bytes past the
 * kept ones are counted and dropped at once, so that an endless reply costs no memory.
 */
export class Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #read = 0;

  constructor(status: number, headers: Record<string, string | string[]>) {
    this.status = status;
    this.headers = headers;
  }

  /** Takes a piece of the body; false where enough was read and the connection should be cut. */
  add(chunk: Buffer): boolean {
    this.#read += chunk.length;
    if (this.#kept < KEEP_BYTES) {
      // A copy: a slice would keep undici's whole read buffer alive for a few bytes of it.
      const piece = Buffer.from(chunk.subarray(0, KEEP_BYTES - this.#kept));
      this.#kept += piece.length;
      this.#chunks.push(piece);
    }
    return this.#read < READ_BYTES;
  }

  /** The record for the log. Bytes are read as UTF-8; a character cut by the limit is left out. */
  record(): NonNullable<AttemptRecord['response']> {
    const body = this.#kept === 0 ? '' : textOf(this.#chunks, this.#read > this.#kept);
    return { status: this.status, headers: this.headers, body };
  }
}

function textOf(chunks: readonly Buffer[], cut: boolean): string {
  const [first] = chunks;
  const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  // `stream` leaves out the bytes of an unfinished character instead of turning them into U+FFFD.
  return cut
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
    : bytes.toString();
}
