import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/queues.ts';
import { type LoadGate, overloaded } from './load.ts';

/** A turn's share in the mean of turns. */
const SHARE = 0.05;
/** One long turn, as of a process that stood still, says little of those after it. */
const LONGEST_TURN_MS = 500;
/** A request that waited longer for its turn is refused: it has changed nothing yet, and would be answered too late to matter. */
const LONGEST_WAIT_MS = 1_500;

interface Waiting {
  since: number;
  go(error?: Error): void;
}

/**
 * Starts at most one handler per event-loop turn, in arrival order. Node reads
 * all sockets that are ready in one turn, and would answer all their requests before it looks for others: what came just
 * after the look waits for two such rounds. So the slowest tenth of eight callers at once took twice as long as the rest;
 * and a request for liveness would wait for a round of pages, where it now waits for one.
 *
 * The load gate gets the current wait in milliseconds: requests in line times the mean length of a turn. Turns get longer
 * once refused callers retry at once: of 512 that were let in together the last
 * waited 9 s, so that one whose turn comes too late is refused as well.
 */
export function addOneATurn(app: FastifyInstance, { clock, load }: { clock: Clock; load: LoadGate }): void {
  const waiting = createFifo<Waiting>();
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
      schedule(); // first, as the handler runs within the call
      next?.go();
    });
  }

  /** Refusing takes little: all that are late at once. */
  function nextInTime(now: number): Waiting | undefined {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (now - next.since <= LONGEST_WAIT_MS) return next;
      next.go(overloaded(load.refuse('turns', waitMs())));
    }
    return undefined;
  }

  const waitMs = () => waiting.size * turnMs;
  load.watchTurns(waitMs);
  app.addHook('preHandler', (_request, _reply, done) => {
    waiting.push({ since: clock.monotonic(), go: done });
    schedule();
  });
}

/**
 * Starts the handlers of all requests read in one event-loop turn together, at its end. Node reads all sockets that are
 * ready in one turn, and an answer made between two readings goes out at once: its receiver, who sleeps until bytes come, is
 * woken for each, which costs the writer as much as making a small answer does. Answers that go out one after the other
 * wake it once.
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

/** Pipelined requests waiting on one connection; a client that sends more does not mean to read the answers. */
const MOST_WAITING = 64;

/**
 * Begins with a request when the one before it on its connection is answered, as answers go out in that order whenever they
 * are made: what comes in one piece is handed on together. Of all connections that sent more than one request, one begins
 * with its next in each turn of the event loop.
 */
export function handleInOrder(server: Server): void {
  const handlers = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  /** Further data of connections whose request is being answered. */
  const lines = new WeakMap<Socket, (() => void)[]>();
  /** Requests whose turn has come on their connections: one of all of them begins in a turn of the event loop. */
  const due = createFifo<() => void>();
  let scheduled = false;

  function schedule(): void {
    if (scheduled || due.size === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      const next = due.shift();
      schedule(); // first, as the handler runs within the call
      next?.();
    });
  }

  function begin(socket: Socket, line: (() => void)[], start: () => void, response: ServerResponse): void {
    response.once('close', () => {
      const next = line.shift();
      if (next === undefined || socket.destroyed) lines.delete(socket);
      else {
        due.push(next);
        schedule();
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
      const own: (() => void)[] = [];
      lines.set(socket, own);
      begin(socket, own, start, response);
    } else if (line.length >= MOST_WAITING) socket.destroy();
    else line.push(() => begin(socket, line, start, response));
  });
}

/** What of one connection is parsed at a time: a hundred of the smallest requests, or 1 ms of chunks of a byte. */
const SLICE_BYTES = 2_048;
/** What parsing may take of one turn of the event loop, for all connections together. */
const MAX_TURN_MS = 2;
/** The same limit in case the clock stands still. */
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
