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
  /** Of connections whose request is being answered, what comes next. */
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
