import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/queues.ts';
import { stopReading } from '../lib/sockets.ts';
import { wasAccepted } from '../lib/yielding.ts';
import { type ChunkPosition, mergeChunks, START_OF_CHUNKS, walkChunks } from './chunked-body.ts';
import { createReadGate, type ReadGate } from './read-gate.ts';
import { oncePerTurn } from './turns.ts';

/** The requests of each connection that wait for the previous one on it. */
export interface Pipelines {
  /** Whether requests of the connection are waiting. */
  isBehind(socket: Socket): boolean;
  /** Whether a request of the connection is in progress. */
  isBusy(socket: Socket): boolean;
  /** Calls `go` once none is waiting any longer, unless the connection is closed before. */
  onceCaughtUp(socket: Socket, go: () => void): void;
}

/** Requests of one connection whose request is in progress. */
interface Line {
  starts: (() => void)[];
  caughtUp: () => void;
}

const doNothing = () => {};

/**
 * Starts a request when the previous one on its connection has been answered: responses are sent in that order
 * anyway, and everything that arrived together would be processed at once. Of all connections with further requests,
 * one starts its next request per turn of the event loop.
 */
export function handleInOrder(server: Server): Pipelines {
  const handlers = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  const lines = new WeakMap<Socket, Line>();
  /** The next requests of their connections; one of them starts per turn of the event loop. */
  const due = createFifo<() => void>();

  const startNext = oncePerTurn(() => {
    const next = due.shift();
    if (due.size > 0) startNext(); // first, because the handler runs synchronously
    next?.();
  });

  /** The connection may be closed before the turn of its next request. */
  function startDue(socket: Socket, start: () => void): void {
    if (socket.destroyed) lines.delete(socket);
    else start();
  }

  function begin(socket: Socket, line: Line, start: () => void, response: ServerResponse): void {
    response.once('close', () => {
      const next = line.starts.shift();
      if (next === undefined || socket.destroyed) lines.delete(socket);
      else {
        due.push(() => startDue(socket, next));
        startNext();
        if (line.starts.length > 0) return;
        const { caughtUp } = line;
        line.caughtUp = doNothing;
        caughtUp();
      }
    });
    start();
  }

  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const start = () => {
      for (const handle of handlers) handle(request, response);
    };
    const line = lines.get(socket);
    if (line === undefined) {
      const own: Line = { starts: [], caughtUp: doNothing };
      lines.set(socket, own);
      begin(socket, own, start, response);
    } else line.starts.push(() => begin(socket, line, start, response));
  });
  return {
    isBehind: (socket) => (lines.get(socket)?.starts.length ?? 0) > 0,
    isBusy: (socket) => lines.has(socket),
    onceCaughtUp(socket, go) {
      const line = lines.get(socket);
      if (line !== undefined) line.caughtUp = go;
    },
  };
}

/** Maximum time for parsing per turn of the event loop, for all connections together. */
const MAX_TURN_MS = 2;
/**
 * The same limit while connections arrive. Node accepts one per turn: with turns of 3 ms, a new connection waited up to
 * 7 s behind two thousand others.
 */
const MAX_ACCEPTING_TURN_MS = 0.25;
/**
 * If the rest of a turn takes long anyway, longer slices hardly delay anyone: parsing may take this share of it in addition, up to a maximum.
 * While a hundred long posts were being read, in turns of 14 ms, a health check waited for 62 of them until it was parsed.
 */
const SHARE_OF_TURN = 0.5;
const MAX_LONG_TURN_MS = 5;
/** The same limit in slices, in case the clock does not advance. */
const MAX_TURN_SLICES = 64;

/** The bytes of one connection between its socket and the parser. */
interface ConnectionReader {
  /** Parses the next slice. */
  advance(): void;
  /** Its next slice is the first since the socket was last drained, or costs nothing to parse. */
  isFresh: boolean;
  /** It has had a request. */
  readonly isKnown: boolean;
  /** Its next slice belongs to the body of a request. */
  readonly isInBody: boolean;
}

/**
 * Parses incoming data in small slices, connections taking turns. By default, Node's parser consumes everything
 * available on each ready socket, 64 KB and more: pipelined requests on 24 connections blocked the event loop for 500
 * ms before the first response, and a body in one-byte chunks for 1.4 s. The first slice of a connection precedes
 * further slices of others, so that a small request never waits for a large one.
 *
 * A connection whose requests wait for each other is not read, so that at most two requests wait: Node creates an error
 * for each when the connection is closed, and 1,500 connections with sixty waiting requests each, closed together,
 * blocked the event loop for 1.8 s.
 *
 * Data of bodies is parsed as it arrives: that takes no longer. In slices, bodies of requests that had been refused
 * already were read so slowly that 1,500 clients, by sending and disconnecting, kept 1 GB in use for a minute. Small
 * chunks do take longer, even though they are merged before Node parses them, and come last: when 5,000 connections each
 * began with a slice of them, other requests waited for 3 s, and those with a body for 8 s. Nor are they parsed once their request has been answered: clients that sent
 * 120 MB in chunks of one byte, without an account, kept a core busy for a minute.
 *
 * Node parses in native code until a `data` listener is added to the socket; from then on, the listeners that it left
 * on the socket receive the bytes. This costs about 5 µs per request.
 */
export function readInTurns(server: Server, clock: Pick<Clock, 'monotonic'>, pipelines: Pipelines): void {
  const known = createFifo<ConnectionReader>();
  const fresh = createFifo<ConnectionReader>();
  const bodies = createFifo<ConnectionReader>();
  const rest = createFifo<ConnectionReader>();
  const gate = createReadGate(clock);
  let hasAccepted = false;
  let mostMs = MAX_TURN_MS;
  let spentMs = 0;
  let slices = 0;
  /** When the last turn began, if connections had to wait for this one. */
  let turnedAt: number | null = null;

  const isSpent = () => spentMs >= mostMs || slices >= MAX_TURN_SLICES;
  const isBehind = () => known.size + fresh.size + bodies.size + rest.size > 0;

  const takeTurns = oncePerTurn(() => {
    const now = clock.monotonic();
    const elsewhereMs = turnedAt === null ? 0 : now - turnedAt - spentMs;
    turnedAt = now;
    const allowedMs = Math.min(MAX_LONG_TURN_MS, elsewhereMs * SHARE_OF_TURN);
    mostMs = Math.max(hasAccepted ? MAX_ACCEPTING_TURN_MS : MAX_TURN_MS, allowedMs);
    hasAccepted = false;
    spentMs = 0;
    slices = 0;
    // Each line gets a slice in any case, so that none starves another.
    for (const line of [known, fresh, bodies, rest]) if (line.size > 0) measured(line.shift());
    // Otherwise, heads of known and new connections alternate: a new one waited for all requests of eighty known ones.
    for (let isOfNew = true; !isSpent() && isBehind(); isOfNew = !isOfNew) {
      const [first, second] = isOfNew ? [fresh, known] : [known, fresh];
      measured(first.shift() ?? second.shift() ?? bodies.shift() ?? rest.shift());
    }
    if (isBehind()) takeTurns();
    else turnedAt = null;
  });

  function measured(reading: ConnectionReader | undefined): void {
    const since = clock.monotonic();
    reading?.advance();
    spentMs += clock.monotonic() - since;
    slices++;
  }

  function queue(reading: ConnectionReader): void {
    if (!reading.isFresh) rest.push(reading);
    else if (!isSpent()) measured(reading);
    else if (reading.isInBody) bodies.push(reading);
    else (reading.isKnown ? known : fresh).push(reading);
    takeTurns();
  }

  server.on('connection', (socket) => {
    hasAccepted = true;
    wasAccepted();
    gate.add(socket);
    readSocket(socket, queue, { pipelines, gate });
  });
}

function readSocket(
  socket: Socket,
  queue: (reading: ConnectionReader) => void,
  { pipelines, gate }: { pipelines: Pipelines; gate: ReadGate },
): void {
  const parse = takeListener(socket, 'data');
  const end = takeListener(socket, 'end');
  const parser: unknown = Reflect.get(socket, 'parser');
  holdNothing(socket);
  /** Data that is not parsed yet: its first part, then further ones. */
  let first: Buffer | undefined;
  const further = createFifo<Buffer>();
  const message = createMessage(parser);
  let isQueued = false;
  /** Paused here, because of data that is not parsed yet. */
  let isPaused = false;
  /** Paused by HTTP, because the body or the responses are not being read. */
  let isHeldBack = false;
  let hasEnded = false;

  const isEnding = () => socket.writableEnded && !socket.destroyed;
  // After a connection was closed or upgraded, its parser may already serve another one.
  const isOver = () => socket.destroyed || socket.writableEnded || Reflect.get(socket, 'parser') !== parser;

  const reading: ConnectionReader = {
    isFresh: true,
    get isKnown() {
      return message.isKnown();
    },
    get isInBody() {
      return message.isInBody();
    },
    advance() {
      isQueued = false;
      if (isOver()) return drain();
      if (first === undefined) {
        if (hasEnded) end();
        hasEnded = false;
        return finish();
      }
      if (pipelines.isBehind(socket)) {
        pause();
        return pipelines.onceCaughtUp(socket, () => enqueue(false));
      }
      const { length, isCheap } = message.nextSlice(first);
      const isRest = length < first.length && !isCheap && message.isInChunks();
      if (isRest && !pipelines.isBusy(socket)) return discard();
      const merged = isRest ? message.merge(first) : null;
      const slice = first.subarray(0, merged?.length ?? length);
      first = slice.length === first.length ? further.shift() : first.subarray(slice.length);
      if (isPaused) socket.resume(); // so that a later pause is known to be HTTP's own
      isPaused = false;
      parse(merged?.merged ?? slice);
      message.parsed(slice, merged !== null);
      isHeldBack = !hasEnded && socket.isPaused(); // HTTP does not resume a socket that has ended
      if (first === undefined || isOver()) return finish();
      pause();
      if (!isHeldBack) enqueue(false);
    },
  };

  /**
   * The request has been answered: the rest of its body is received, so that the client gets the response, but not
   * parsed, and the connection is closed.
   */
  function discard(): void {
    socket.end();
    drain();
  }

  /** What is still received on a connection that has been ended here is dropped, in turns. */
  function drain(): void {
    finish();
    if (!isPaused || !isEnding()) return;
    isPaused = false;
    socket.resume();
  }

  /** Queues the next slice; `isFirst`: since the socket was drained. */
  function enqueue(isFirst: boolean): void {
    if (isQueued) return;
    isQueued = true;
    reading.isFresh = isFirst || (first !== undefined && message.nextSlice(first).isCheap);
    queue(reading);
  }

  function pause(): void {
    isPaused = true;
    socket.pause();
  }

  /** No further bytes arrive until they are parsed. */
  function stop(): void {
    pause();
    stopReading(socket);
  }

  function finish(): void {
    first = undefined;
    further.clear();
    if (hasEnded && !isOver()) setImmediate(endLast); // Node responds to complete requests before the end
  }

  /** After requests of other connections: the error of an incomplete request costs more than many requests do. */
  const endLast = () => enqueue(false);

  socket.on('data', (bytes: Buffer) => {
    gate.wasRead(socket);
    if (isEnding()) {
      stop();
      enqueue(false);
      return;
    }
    if (isOver()) return;
    isHeldBack = false; // data is emitted only if HTTP has resumed, and may precede the event
    if (first === undefined) {
      first = bytes;
      enqueue(true);
      if (first !== undefined) stop(); // it was not its turn
      return;
    }
    further.push(bytes);
    stop();
    enqueue(false);
  });
  socket.on('resume', () => {
    if (!isHeldBack || socket.isPaused()) return;
    isHeldBack = false;
    if (first !== undefined) enqueue(false);
  });
  socket.on('end', () => {
    if (isOver()) return;
    hasEnded = true;
    if (first !== undefined && !isHeldBack) return;
    isHeldBack = false;
    endLast();
  });
}

/** Makes a paused socket hold no more than what arrived before it was paused: otherwise, Node resumes reading at once. */
function holdNothing(socket: Socket): void {
  const state: unknown = Reflect.get(socket, '_readableState');
  if (state instanceof Object) Reflect.set(state, 'highWaterMark', 0);
}

/** Removes and returns Node's listener for a connection event. */
function takeListener(socket: Socket, event: 'data' | 'end'): (...args: unknown[]) => void {
  const listener = socket.listeners(event).at(-1) as (...args: unknown[]) => void;
  socket.removeListener(event, listener as () => void);
  return (...args) => listener.call(socket, ...args);
}

/** How much of the data is parsed next, and whether that costs next to nothing. */
interface Slice {
  length: number;
  isCheap: boolean;
}

/** Maximum length of a slice of heads. */
const SLICE_BYTES = 2_048;
/** Maximum number of chunks in a slice that are not merged: 50 µs. */
const SLICE_CHUNKS = 16;
/** Maximum length of small chunks that are merged for a slice: 50 µs for chunks of a byte. */
const MERGED_BYTES = 16 * 1024;
/** Chunks of this average length cost next to nothing. */
const CHEAP_CHUNK_BYTES = 512;

const [CR, LF] = [13, 10];
const BLANK_LINE = '\r\n\r\n';
/** The smallest request: "GET / HTTP/1.0" and a blank line. */
const LEAST_REQUEST_BYTES = 18;

const CHUNKED = /\r\ntransfer-encoding[ \t]*:/i;

/** Follows the message that the parser is reading, to slice its data. */
function createMessage(parser: unknown) {
  let request: IncomingMessage | null = null;
  /** The bytes of a body of known length that are still to come. */
  let bodyLeft = 0;
  /** The position in a body of chunks. */
  let position: ChunkPosition | null = null;
  let isInHead = false;
  let hasBegun = false;

  /** Starts with the body behind the head, in the slice that completed it. */
  function begin(incoming: IncomingMessage, slice: Buffer): void {
    request = incoming;
    const { 'content-length': length, 'transfer-encoding': encoding } = incoming.headers;
    const body = slice.subarray(headEnd(slice));
    bodyLeft = encoding === undefined ? Math.max(0, Number(length ?? 0) - body.length) : 0;
    position =
      encoding === undefined ? null : walkChunks(START_OF_CHUNKS, body, Number.POSITIVE_INFINITY).position;
  }

  return {
    nextSlice(bytes: Buffer): Slice {
      if (bodyLeft > 0) return { length: Math.min(bodyLeft, bytes.length), isCheap: true };
      if (position === null) return { length: headSlice(bytes), isCheap: isInHead };
      const { length, chunks } = walkChunks(position, bytes, SLICE_CHUNKS);
      // What follows the last chunk is parsed in a slice only if the parser expects more than was found here.
      if (length === 0) return { length: Math.min(SLICE_BYTES, bytes.length), isCheap: false };
      return { length, isCheap: length >= CHEAP_CHUNK_BYTES * chunks };
    },
    /** Whether a request has begun. */
    isKnown: () => hasBegun,
    /** Whether a body in chunks is being read. */
    isInChunks: () => position !== null,
    /** Whether a body is being read. */
    isInBody: () => position !== null || bodyLeft > 0,
    /** The whole small chunks with which the data begins, as one. */
    merge: (bytes: Buffer) => (isAtChunk(position) ? mergeChunks(bytes.subarray(0, MERGED_BYTES)) : null),
    /** Follows what was parsed: whole chunks from one to another, or any data. */
    parsed(slice: Buffer, isMerged: boolean): void {
      const incoming = typeof parser === 'object' && parser !== null ? Reflect.get(parser, 'incoming') : null;
      const isRequest = incoming instanceof IncomingMessage;
      hasBegun ||= isRequest;
      const isInBody = isRequest && !incoming.complete;
      isInHead = !isInBody && bodyLeft === 0 && position === null && !slice.includes(BLANK_LINE);
      if (!isInBody) {
        bodyLeft = 0;
        position = null;
      } else if (incoming !== request) begin(incoming, slice);
      else if (position === null) bodyLeft = Math.max(0, bodyLeft - slice.length);
      else if (!isMerged) position = walkChunks(position, slice, Number.POSITIVE_INFINITY).position;
    },
  };
}

/** Whether a chunk begins here, or its size has begun with zeros. */
function isAtChunk(position: ChunkPosition | null): boolean {
  return position?.part === 'size' && position.count === 0;
}

/** Where the head ends in the slice that completed it; its blank line may have begun in the slice before. */
function headEnd(slice: Buffer): number {
  const blank = slice.indexOf(BLANK_LINE);
  if (blank !== -1) return blank + BLANK_LINE.length;
  const start = slice.findIndex((byte) => byte !== CR && byte !== LF);
  return start === -1 ? slice.length : start;
}

/** At most one head, as it ends with a blank line, and its body, unless that is in chunks. */
function headSlice(bytes: Buffer): number {
  const slice = bytes.length > SLICE_BYTES ? bytes.subarray(0, SLICE_BYTES) : bytes;
  const blank = slice.indexOf(BLANK_LINE, LEAST_REQUEST_BYTES - BLANK_LINE.length);
  const end = blank + BLANK_LINE.length;
  if (blank === -1 || end === slice.length) return slice.length;
  const isSeparate = slice.includes(BLANK_LINE, end) || CHUNKED.test(slice.toString('latin1', 0, end));
  return isSeparate ? end : slice.length;
}
