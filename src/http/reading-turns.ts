import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/queues.ts';

/** What of one connection is parsed at a time: a hundred of the smallest requests, or 1 ms of chunks of a byte. */
const SLICE_BYTES = 2_048;
/** What parsing may take of one turn of the event loop, for all connections together. */
const MAX_TURN_MS = 2;
/** The same bound where a clock stands still. */
const MAX_TURN_SLICES = 64;

/** One connection's bytes between its socket and the parser. */
interface Reading {
  /** Parses the next slice. */
  advance(): void;
  /** Nothing of the connection was parsed since its socket was last read to the end. */
  isFresh: boolean;
}

/**
 * Parses incoming data in small slices, connections taking turns. By default Node's parser consumes everything that each
 * ready socket holds, 64 KB and more: pipelined requests on 24 connections blocked the event loop for 500 ms before the
 * first response, and a body in chunks of one byte for 1.4 s. A connection's first slice goes before the rest of those
 * that sent more, so that a small request never waits for a large one.
 *
 * Node parses inside its native code until a `data` listener is added to the socket; the listeners that it leaves there take
 * the bytes from then on. This costs some 5 µs a request.
 */
export function readInTurns(server: Server, clock: Pick<Clock, 'monotonic'>): void {
  const fresh = createFifo<Reading>();
  const rest = createFifo<Reading>();
  let scheduled = false;
  let spentMs = 0;
  let slices = 0;

  const isSpent = () => spentMs >= MAX_TURN_MS || slices >= MAX_TURN_SLICES;

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      spentMs = 0;
      slices = 0;
      // One that sent much gets a slice in any case: others that begin all the time do not keep it from its end.
      if (rest.size > 0) measured(rest.shift());
      while (!isSpent() && fresh.size + rest.size > 0) measured(fresh.shift() ?? rest.shift());
      if (fresh.size + rest.size > 0) schedule();
    });
  }

  function measured(reading: Reading | undefined): void {
    const since = clock.monotonic();
    reading?.advance();
    spentMs += clock.monotonic() - since;
    slices++;
  }

  function queue(reading: Reading): void {
    if (reading.isFresh && !isSpent()) measured(reading);
    else (reading.isFresh ? fresh : rest).push(reading);
    schedule();
  }

  server.on('connection', (socket) => readSocket(socket, queue));
}

function readSocket(socket: Socket, queue: (reading: Reading) => void): void {
  const parse = takeListener(socket, 'data');
  const end = takeListener(socket, 'end');
  const parser: unknown = Reflect.get(socket, 'parser');
  const waiting = createFifo<Buffer>();
  let isQueued = false;
  /** Paused here, for the bytes that wait. */
  let isPaused = false;
  /** Paused by HTTP: the body is not read, or answers are not. */
  let isHeldBack = false;
  let hasEnded = false;

  // The parser of a connection that was closed, or left HTTP, may serve another one already.
  const isOver = () => socket.destroyed || socket.writableEnded || Reflect.get(socket, 'parser') !== parser;

  const reading: Reading = {
    isFresh: true,
    advance() {
      isQueued = false;
      const bytes = waiting.shift();
      if (bytes === undefined || isOver()) return finish();
      if (isPaused) socket.resume(); // so that a pause seen afterwards is HTTP's own
      isPaused = false;
      parse(bytes);
      isHeldBack = socket.isPaused();
      if (waiting.size === 0 || isOver()) return finish();
      reading.isFresh = false;
      pause();
      if (!isHeldBack) enqueue();
    },
  };

  function enqueue(): void {
    if (isQueued) return;
    isQueued = true;
    queue(reading);
  }

  function pause(): void {
    isPaused = true;
    socket.pause();
  }

  function finish(): void {
    waiting.clear();
    reading.isFresh = true;
    if (!hasEnded) return;
    hasEnded = false;
    setImmediate(() => !isOver() && end()); // Node answers complete requests before it sees the end
  }

  socket.on('data', (bytes: Buffer) => {
    if (isOver()) return;
    const isBehind = waiting.size > 0;
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) waiting.push(bytes.subarray(at, at + SLICE_BYTES));
    if (isBehind) pause();
    else enqueue();
  });
  socket.on('resume', () => {
    if (!isHeldBack || socket.isPaused()) return;
    isHeldBack = false;
    if (waiting.size > 0) enqueue();
  });
  socket.on('end', () => {
    if (isOver()) return;
    if (waiting.size > 0) hasEnded = true;
    else end();
  });
}

/** What Node does with an event of its connection, no longer called by the event itself. */
function takeListener(socket: Socket, event: 'data' | 'end'): (...args: unknown[]) => void {
  const listener = socket.listeners(event).at(-1) as (...args: unknown[]) => void;
  socket.removeListener(event, listener as () => void);
  return (...args) => listener.call(socket, ...args);
}
