import { Transform, type TransformCallback } from 'node:stream';
import type { FastifyInstance } from 'fastify';

const BLOCK_BYTES = 16 * 1024;

/**
 * Joins the chunks of request bodies (RFC 9112 section 7.1) into blocks before they are collected. Node creates a buffer
 * for each chunk, and a chunk may be one byte long: four bodies of 4 MB in such chunks took 4 GB, because the limit of
 * a body counts bytes.
 */
export function joinChunks(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.headers['transfer-encoding'] === undefined) return done(null, payload);
    const joiner = new ChunkJoiner();
    // The error of a connection that was closed reaches the reader of the blocks. Not `pipeline`, which also creates an `AbortError`,
    // with a stack trace: that of two thousand connections reset at once took 60 ms.
    joiner.on('error', () => {});
    payload.on('error', (error) => joiner.destroy(error));
    done(null, payload.pipe(joiner));
  });
}

class ChunkJoiner extends Transform {
  #block = Buffer.allocUnsafe(BLOCK_BYTES);
  #used = 0;

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(this.#block, this.#used, at);
      at += copied;
      this.#used += copied;
      if (this.#used < BLOCK_BYTES) continue;
      this.push(this.#block);
      this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
      this.#used = 0;
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#used === 0 ? null : this.#block.subarray(0, this.#used));
  }
}

/** A position in a body of chunks. */
export interface ChunkPosition {
  /** What comes next: a chunk's size, the rest of that line, its data, or trailers; `end` after those. */
  part: 'size' | 'line' | 'data' | 'trailers' | 'end';
  /** The size as far as read, the rest of the data with its line break, or the length of the trailer's line. */
  count: number;
}

export const START_OF_CHUNKS: ChunkPosition = { part: 'size', count: 0 };

const [CR, LF] = [13, 10];

/**
 * Follows the framing of a body from `from` on: to the end of the bytes, of the body, or of `most` chunks. The parser
 * checks it; of a body that is not valid, only the first invalid byte matters.
 */
export function walkChunks(
  from: ChunkPosition,
  bytes: Buffer,
  most: number,
): { position: ChunkPosition; length: number; chunks: number } {
  let { part, count } = from;
  let chunks = 0;
  let at = 0;
  while (at < bytes.length && part !== 'end') {
    if (part === 'data') {
      const length = Math.min(count, bytes.length - at);
      at += length;
      count -= length;
      if (count > 0) break;
      part = 'size';
      if (chunks >= most) break;
      continue;
    }
    const byte = bytes[at++] ?? 0;
    if (part === 'trailers') {
      if (byte === LF && count === 0) part = 'end';
      if (byte !== CR) count = byte === LF ? 0 : count + 1;
    } else if (byte === LF) {
      chunks++;
      part = count === 0 ? 'trailers' : 'data';
      if (count > 0) count += 2; // with the line break behind it
    } else if (part === 'size') {
      const digit = hexDigit(byte);
      if (digit === -1) part = 'line';
      else count = count * 16 + digit;
    }
  }
  return { position: { part, count }, length: at, chunks };
}

/** Longer sizes than this are parsed as they are. */
const MAX_SIZE_DIGITS = 4;

/**
 * The whole chunks at the start of the bytes, which begin with a chunk, as one chunk, and how many bytes they are; null
 * if there are less than two. Chunks with extensions, and the last one, are left to the parser.
 */
export function mergeChunks(bytes: Buffer): { length: number; merged: Buffer } | null {
  const data = Buffer.allocUnsafe(bytes.length);
  let chunks = 0;
  let size = 0;
  let length = 0;
  for (;;) {
    let at = length;
    let count = 0;
    for (let digit = hexDigit(bytes[at] ?? 0); digit !== -1; digit = hexDigit(bytes[++at] ?? 0)) {
      count = count * 16 + digit;
      if (at - length === MAX_SIZE_DIGITS) break;
    }
    const end = at + 2 + count;
    if (count === 0 || end + 2 > bytes.length || !isLineBreak(bytes, at) || !isLineBreak(bytes, end)) break;
    for (let from = at + 2; from < end; from++) data[size++] = bytes[from] ?? 0;
    length = end + 2;
    chunks++;
  }
  if (chunks < 2) return null;
  return {
    length,
    merged: Buffer.concat([
      Buffer.from(`${size.toString(16)}\r\n`),
      data.subarray(0, size),
      Buffer.from('\r\n'),
    ]),
  };
}

function isLineBreak(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = (byte | 32) - 97;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}
