import type { Server, Socket } from 'node:net';
import type { Clock } from './clock.ts';
import { createReleases } from './yielding.ts';

/** The most that libuv holds of what is written to a connection; the rest waits here. Each piece costs 3 us. */
const PIECE_BYTES = 8_192;
/** The most pieces that one connection takes at once: a few megabytes took 0.2 s. */
const PIECES_AT_ONCE = 16;
/** Bytes of a character in UTF-8, at most. */
const CHARACTER_BYTES = 3;

/** The encoding of bytes, which is missing in the types. */
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
 * Writes in small pieces and, once the connection was full, when `release` calls. libuv writes everything that it holds once a connection has room
 * again, in one poll for all: 2,000 connections that had not read a page of 218 KB, and then read on together, kept the event loop for 1.2 s.
 */
export function writeInPieces(socket: Socket, release: (run: () => void) => void): void {
  const write = socket._write.bind(socket);
  const writeAll = socket._writev?.bind(socket);

  /** Writes as many pieces as the connection takes at once; the others once it has room, in turns. */
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
