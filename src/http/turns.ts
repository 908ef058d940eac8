import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/queues.ts';
import { type LoadGate, overloaded } from './load.ts';

/** The weight of one turn in the moving average. */
const SHARE = 0.05;
/** A longer turn, such as after the process was suspended, says little about the following ones. */
const LONGEST_TURN_MS = 500;
/** A request that waited longer is refused: it has changed nothing yet, and its response would come too late. */
const LONGEST_WAIT_MS = 1_500;

interface QueuedRequest {
  since: number;
  /** Whether its client has disconnected and the request would change nothing. */
  isAbandoned(): boolean;
  go(error?: Error): void;
}

/**
 * Starts at most one handler per event-loop turn, in order of arrival. Node reads all sockets that are ready in one
 * turn, and would process all their requests before it polls again: a request that arrives just after the poll waits
 * for two such rounds. The slowest tenth of the requests of eight concurrent callers took twice as long as the rest,
 * and a liveness check waited for a round of pages, where it now waits for one page.
 *
 * The load gate gets the current wait in milliseconds: queued requests times the average length of a turn. Turns get
 * longer once refused callers retry at once: of 512 requests admitted together, the last waited 9 s. Therefore a
 * request whose turn comes too late is refused as well. A read whose client has disconnected is not handled at all.
 */
export function addOneATurn(app: FastifyInstance, { clock, load }: { clock: Clock; load: LoadGate }): void {
  const waiting = createFifo<QueuedRequest>();
  let scheduled = false;
  let turnMs = 0;

  function schedule(): void {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    const since = clock.monotonic();
    setImmediate(() => {
      scheduled = false;
      const now = clock.monotonic();
      turnMs += (Math.min(LONGEST_TURN_MS, now - since) - turnMs) * SHARE;
      const next = nextInTime(now);
      schedule(); // first, because the handler runs synchronously
      next?.go();
    });
  }

  /** Refusing is cheap: all overdue requests are refused at once. */
  function nextInTime(now: number): QueuedRequest | undefined {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next.isAbandoned()) continue;
      if (now - next.since <= LONGEST_WAIT_MS) return next;
      next.go(overloaded(load.refuse('turns', waitMs())));
    }
    return undefined;
  }

  const waitMs = () => waiting.size * turnMs;
  load.watchTurns(waitMs);
  app.addHook('preHandler', ({ method }, reply, done) => {
    const reads = method === 'GET' || method === 'HEAD';
    waiting.push({
      since: clock.monotonic(),
      isAbandoned: () => reads && reply.raw.destroyed,
      go: done,
    });
    schedule();
  });
}

/**
 * Starts the handlers of all requests read in one event-loop turn together, at its end. Node reads all sockets that
 * are ready in one turn; a response written between two reads is sent at once and wakes its sleeping receiver, which
 * costs the writer as much as producing a small response. Responses written one after the other wake it once.
 */
export function handleTogether(app: FastifyInstance): void {
  let waiting: (() => void)[] = [];

  function start(): void {
    const started = waiting;
    waiting = [];
    for (const go of started) go();
  }

  app.addHook('preHandler', (_request, _reply, done) => {
    if (waiting.length === 0) setImmediate(start);
    waiting.push(done);
  });
}

/** The requests of each connection that wait for the previous one on it. */
export interface Pipelines {
  /** Whether requests of the connection are waiting. */
  isBehind(socket: Socket): boolean;
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
  let scheduled = false;

  function schedule(): void {
    if (scheduled || due.size === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      const next = due.shift();
      schedule(); // first, because the handler runs synchronously
      next?.();
    });
  }

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
        schedule();
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
    onceCaughtUp(socket, go) {
      const line = lines.get(socket);
      if (line !== undefined) line.caughtUp = go;
    },
  };
}

/** Bytes parsed per connection at a time: 1 ms of one-byte chunks. */
const SLICE_BYTES = 2_048;
/** Maximum time for parsing per turn of the event loop, for all connections together. */
const MAX_TURN_MS = 2;
/** The same limit in slices, in case the clock does not advance. */
const MAX_TURN_SLICES = 64;

const BLANK_LINE = '\r\n\r\n';
/** The smallest request: "GET / HTTP/1.0" and a blank line. */
const LEAST_REQUEST_BYTES = 18;

const CHUNKED = /\r\ntransfer-encoding[ \t]*:/i;

/**
 * The length of the first slice of data: at most one request head, as a head ends with a blank line, and its body, unless
 * that is in chunks.
 */
function sliceLength(bytes: Buffer): number {
  const slice = bytes.length > SLICE_BYTES ? bytes.subarray(0, SLICE_BYTES) : bytes;
  const blank = slice.indexOf(BLANK_LINE, LEAST_REQUEST_BYTES - BLANK_LINE.length);
  const end = blank + BLANK_LINE.length;
  if (blank === -1 || end === slice.length) return slice.length;
  const isSeparate = slice.includes(BLANK_LINE, end) || CHUNKED.test(slice.toString('latin1', 0, end));
  return isSeparate ? end : slice.length;
}

/** The data of one connection that is not parsed yet. */
function createBacklog() {
  const chunks = createFifo<Buffer>();
  let first: Buffer | undefined;
  return {
    isEmpty: () => first === undefined && chunks.size === 0,
    push: (bytes: Buffer) => void chunks.push(bytes),
    /** The next slice to parse. Data of a body, which costs nothing to parse, is one slice, however long it is. */
    take(bodyBytes: number): Buffer | undefined {
      const bytes = first ?? chunks.shift();
      if (bytes === undefined) return undefined;
      const length = Math.max(sliceLength(bytes), Math.min(bodyBytes, bytes.length));
      const isAll = length === bytes.length;
      first = isAll ? undefined : bytes.subarray(length);
      return isAll ? bytes : bytes.subarray(0, length);
    },
    clear() {
      chunks.clear();
      first = undefined;
    },
  };
}

/** Follows how much of the body in progress is still to come, by its Content-Length. */
function createBodyCount(parser: unknown) {
  let request: IncomingMessage | null = null;
  let left = 0;
  let isChunked = false;
  return {
    /** The number of bytes; 0 if it is unknown, as a chunk may be one byte long. */
    left: () => left,
    /** Whether further chunks are expected. */
    isChunked: () => isChunked,
    /** Counts what was parsed. */
    parsed(bytes: Buffer): void {
      const incoming = typeof parser === 'object' && parser !== null ? Reflect.get(parser, 'incoming') : null;
      if (!(incoming instanceof IncomingMessage) || incoming.complete) {
        left = 0;
        isChunked = false;
      } else if (incoming === request) left = Math.max(0, left - bytes.length);
      else {
        request = incoming;
        const { 'content-length': length, 'transfer-encoding': encoding } = incoming.headers;
        isChunked = encoding !== undefined;
        const start = bytes.indexOf(BLANK_LINE) + BLANK_LINE.length;
        left = isChunked ? 0 : Math.max(0, Number(length ?? 0) - (bytes.length - start));
      }
    },
  };
}

/** The bytes of one connection between its socket and the parser. */
interface ConnectionReader {
  /** Parses the next slice. */
  advance(): void;
  /** Its next slice is the first since the socket was last drained, or costs nothing to parse; not if it is of chunks. */
  isFresh: boolean;
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
 * A body of known length is parsed in whole chunks: that takes no longer. In slices, bodies of requests that had been
 * refused already were read so slowly that 1,500 clients, by sending and disconnecting, kept 1 GB in use for a minute.
 * Slices of chunks, whose length is unknown, always come last: when 5,000 connections each began with one, other
 * requests waited for 3 s, and those with a body for 8 s.
 *
 * Node parses in native code until a `data` listener is added to the socket; from then on, the listeners that it left
 * on the socket receive the bytes. This costs about 5 µs per request.
 */
export function readInTurns(server: Server, clock: Pick<Clock, 'monotonic'>, pipelines: Pipelines): void {
  const fresh = createFifo<ConnectionReader>();
  const rest = createFifo<ConnectionReader>();
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
      // A connection with a backlog gets a slice in any case, so that new connections do not starve it.
      if (rest.size > 0) measured(rest.shift());
      while (!isSpent() && fresh.size + rest.size > 0) measured(fresh.shift() ?? rest.shift());
      if (fresh.size + rest.size > 0) schedule();
    });
  }

  function measured(reading: ConnectionReader | undefined): void {
    const since = clock.monotonic();
    reading?.advance();
    spentMs += clock.monotonic() - since;
    slices++;
  }

  function queue(reading: ConnectionReader): void {
    if (reading.isFresh && !isSpent()) measured(reading);
    else (reading.isFresh ? fresh : rest).push(reading);
    schedule();
  }

  server.on('connection', (socket) => readSocket(socket, queue, pipelines));
}

function readSocket(socket: Socket, queue: (reading: ConnectionReader) => void, pipelines: Pipelines): void {
  const parse = takeListener(socket, 'data');
  const end = takeListener(socket, 'end');
  const parser: unknown = Reflect.get(socket, 'parser');
  const waiting = createBacklog();
  const body = createBodyCount(parser);
  let isQueued = false;
  /** Paused here, because of a backlog. */
  let isPaused = false;
  /** Paused by HTTP, because the body or the responses are not being read. */
  let isHeldBack = false;
  let hasEnded = false;

  // After a connection was closed or upgraded, its parser may already serve another one.
  const isOver = () => socket.destroyed || socket.writableEnded || Reflect.get(socket, 'parser') !== parser;

  const reading: ConnectionReader = {
    isFresh: true,
    advance() {
      isQueued = false;
      if (!waiting.isEmpty() && !isOver() && pipelines.isBehind(socket)) {
        pause();
        return pipelines.onceCaughtUp(socket, enqueue);
      }
      const bytes = waiting.take(body.left());
      if (isOver()) return finish();
      if (bytes === undefined) {
        if (hasEnded) end();
        hasEnded = false;
        return finish();
      }
      if (isPaused) socket.resume(); // so that a later pause is known to be HTTP's own
      isPaused = false;
      parse(bytes);
      body.parsed(bytes);
      isHeldBack = socket.isPaused();
      if (waiting.isEmpty() || isOver()) return finish();
      reading.isFresh = body.left() > 0;
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
    reading.isFresh = !body.isChunked();
    if (hasEnded && !isOver()) setImmediate(endInTurn); // Node responds to complete requests before the end
  }

  /** After requests of other connections: the error of an incomplete request costs more than many requests do. */
  function endInTurn(): void {
    reading.isFresh = false;
    enqueue();
  }

  socket.on('data', (bytes: Buffer) => {
    if (isOver()) return;
    const isBehind = !waiting.isEmpty();
    waiting.push(bytes);
    isHeldBack = false; // data is emitted only if HTTP has resumed, and may precede the event
    if (isBehind) pause();
    enqueue();
  });
  socket.on('resume', () => {
    if (!isHeldBack || socket.isPaused()) return;
    isHeldBack = false;
    if (!waiting.isEmpty()) enqueue();
  });
  socket.on('end', () => {
    if (isOver()) return;
    hasEnded = true;
    if (waiting.isEmpty()) endInTurn();
  });
}

/** Removes and returns Node's listener for a connection event. */
function takeListener(socket: Socket, event: 'data' | 'end'): (...args: unknown[]) => void {
  const listener = socket.listeners(event).at(-1) as (...args: unknown[]) => void;
  socket.removeListener(event, listener as () => void);
  return (...args) => listener.call(socket, ...args);
}
