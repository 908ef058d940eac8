import type { Server, Socket } from 'node:net';
import type { Clock } from './clock.ts';
import { createReleases } from './yielding.ts';

/** The largest piece of data passed to libuv at a time. Each piece costs about 3 us. */
const PIECE_BYTES = 8_192;
/** Pieces written to one connection before others get their turn: writing a few megabytes at once took 0.2 s. */
const PIECES_AT_ONCE = 16;
/** A UTF-16 code unit takes at most this many bytes in UTF-8. */
const CHARACTER_BYTES = 3;

/** The encoding that streams pass with bytes; the types lack it. */
const BYTES = 'buffer' as BufferEncoding;

/** A chunk, as streams pass it to `_write`. */
interface Chunk {
  chunk: unknown;
  encoding: BufferEncoding;
}

type Done = (error?: Error | null) => void;

/** Writes responses in small pieces; see {@link writeInPieces}. */
export function writeInTurns(server: Server, { monotonic }: Pick<Clock, 'monotonic'>): void {
  const release = createReleases(monotonic);
  server.on('connection', (socket) => writeInPieces(socket, release));
}

/**
 * Writes data in small pieces. If the connection cannot take a piece, the next one is written when `release` calls back. In a single poll, libuv writes
 * everything that it was given for all connections that became writable: 2,000 clients that stopped reading a page of 218 KB, and then resumed together,
 * blocked the event loop for 1.2 s.
 */
export function writeInPieces(socket: Socket, release: (run: () => void) => void): void {
  const write = socket._write.bind(socket);
  const writeAll = socket._writev?.bind(socket);

  /** Writes pieces until the connection is full; the remaining ones follow in turns once it is writable again. */
  function writeRest(pieces: Iterator<Buffer, void>, done: Done): void {
    let isTaken = true;
    for (let count = 0; isTaken; count++) {
      if (count === PIECES_AT_ONCE) {
        release(() => writeRest(pieces, done));
        return;
      }
      const piece = pieces.next();
      if (piece.done === true) {
        done();
        return;
      }
      let isWaiting = false;
      isTaken = false;
      write(piece.value, BYTES, (error) => {
        if (error) done(error);
        else if (isWaiting) release(() => writeRest(pieces, done));
        else isTaken = true;
      });
      isWaiting = true;
    }
  }

  socket._write = (chunk, encoding, done) => {
    if (isSmall(chunk)) write(chunk, encoding, done);
    else writeRest(piecesOf([{ chunk, encoding }]), done);
  };
  if (writeAll === undefined) return;
  socket._writev = (chunks, done) => {
    if (areSmall(chunks)) writeAll(chunks, done);
    else writeRest(piecesOf(chunks), done);
  };
}

function lengthOf(chunk: unknown): number {
  return typeof chunk === 'string' ? chunk.length * CHARACTER_BYTES : (chunk as Uint8Array).byteLength;
}

function isSmall(chunk: unknown): boolean {
  return lengthOf(chunk) <= PIECE_BYTES;
}

function areSmall(chunks: readonly Chunk[]): boolean {
  let length = 0;
  for (const { chunk } of chunks) length += lengthOf(chunk);
  return length <= PIECE_BYTES;
}

function* piecesOf(chunks: readonly Chunk[]): Generator<Buffer, void> {
  for (const { chunk, encoding } of chunks) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : (chunk as Buffer);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
  }
}
