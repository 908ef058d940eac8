import type { Server } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { createFairQueue } from '../lib/queues.ts';
import { stopReading } from '../lib/sockets.ts';
import { createReleases, createTurnRunner } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type { LoadGate } from './load.ts';
import { onceOver } from './once-over.ts';

/** Limits per connection, and for all connections together. Times are in milliseconds. */
export interface ConnectionLimits {
  /**
   * Maximum number of open connections (`open-connections.ts`). An idle one takes about 20 KB. The system reports in one turn of
   * the event loop what happened on all of them, 10 to 30 µs each: with 9,000 that were reset at once, the process paused for 0.25 s.
   */
  most: number;
  /** Maximum bytes of responses that clients have not read. */
  unreadBytes: number;
  /**
   * Time for the head of a request to arrive, from the start of the connection or the end of the previous request.
   */
  headersMs: number;
  /** Time for a whole request to arrive. */
  requestMs: number;
  /** Time between two requests. */
  idleMs: number;
  /** Time without a byte in either direction while a request is processed; longer than a test delivery may take. */
  silentMs: number;
  /** How often late connections are checked: the more often, the fewer of them are late at the same time. */
  checkEveryMs: number;
}

/** The limits of a server: slow callers get their response, connections that only stay open are closed. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  most: 4_096,
  unreadBytes: 256 * 1024 * 1024,
  headersMs: 10_000,
  requestMs: 60_000,
  idleMs: 72_000,
  silentMs: 120_000,
  checkEveryMs: 250,
};

/** The maximum size of a request's head; larger ones get 431. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Maximum number of body bytes that a request holds until it is read; Node's default is four times as much. */
const UNREAD_BYTES = 16 * 1024;

/** The Fastify options that limit connections. */
export function connectionOptions(limits: ConnectionLimits) {
  return {
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionTimeout: limits.silentMs,
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Of a body that nobody reads yet, which may come in chunks of one byte.
      highWaterMark: UNREAD_BYTES,
      // `request-context.ts` reports a missing Host as a problem document.
      requireHostHeader: false,
    },
  };
}

/**
 * Maximum number of connections that wait to be accepted, unless the system allows fewer. Node accepts one per turn of the
 * event loop, and the client of a connection beyond these tries again after 1, 3 and 7 s. By default, 511 may wait.
 */
const MOST_WAITING = 4_096;

/** Starts to accept connections. Returns the URL. */
export function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> {
  return app.listen({ host, port, backlog: MOST_WAITING });
}

/**
 * Closes connections that fail, such as those reset by their clients, in turns; their requests end only then. Node reads all sockets that are
 * ready in one turn of the event loop: 4,000 requests, reset at once, blocked the process for 220 ms.
 */
export function closeFailedInTurns(server: Server, { monotonic }: Pick<Clock, 'monotonic'>): void {
  const release = createReleases(monotonic);
  server.on('connection', (socket) => {
    const close = socket._destroy.bind(socket);
    socket._destroy = (error, done) => {
      if (error === null) {
        close(error, done);
        return;
      }
      stopReading(socket); // Node throws on data of a destroyed connection: it ends the process
      release(() => close(error, done));
    };
  });
}

/**
 * Limits on simultaneously waiting requests. Each holds a connection and 2 KB; once woken, it costs as much as any
 * other.
 */
export interface LongPollLimits {
  most: number;
  ofTenant: number;
}

export const LONG_POLL_LIMITS: LongPollLimits = { most: 1_000, ofTenant: 20 };

/** How long woken requests are handled per turn of the event loop. */
const WOKEN_MS = 1;

/** A waiting request. It ends when its time is up, its caller disconnects, or the server stops. */
export interface LongPoll {
  readonly signal: AbortSignal;
  /** Resolves when it may read again after it was woken: one commit can wake all, and tenants take turns. */
  turn(): Promise<void>;
  /** Must be called before the response is sent; further calls do nothing. */
  end(): void;
}

/** Requests whose response is held until there is something to return. */
export interface LongPolls {
  /** @throws DomainError `RATE_LIMITED`, or `UNAVAILABLE` if too many requests are already waiting */
  begin(asked: LongPollAsked): LongPoll;
  /** Ends all waiting requests; later ones do not wait. */
  close(): void;
}

interface LongPollAsked {
  request: FastifyRequest;
  reply: FastifyReply;
  tenantId: string;
  seconds: number;
}

interface LongPollDeps {
  clock: Clock;
  load: Pick<LoadGate, 'park'>;
  limits?: LongPollLimits;
}

export function createLongPolls({ clock, load, limits = LONG_POLL_LIMITS }: LongPollDeps): LongPolls {
  const waiting = new Set<AbortController>();
  const ofTenants = new Map<string, number>();
  const woken = createFairQueue<() => void>();
  const { workOff } = createTurnRunner({
    size: () => woken.size,
    next: woken.next,
    maxMs: WOKEN_MS,
    now: clock.monotonic,
  });
  let closed = false;

  return {
    begin({ request, reply, tenantId, seconds }) {
      const own = ofTenants.get(tenantId) ?? 0;
      if (own >= limits.ofTenant) throw tooManyOwn(own);
      if (waiting.size >= limits.most) throw tooMany();
      const controller = new AbortController();
      const abort = () => controller.abort();
      const since = clock.monotonic();
      const timer = clock.after(seconds * 1_000, abort);
      const goOn = load.park();
      onceOver(reply.raw, abort);
      waiting.add(controller);
      ofTenants.set(tenantId, own + 1);
      if (closed) abort();
      return {
        signal: controller.signal,
        async turn() {
          if (closed) return;
          await new Promise<void>((resolve) => {
            woken.push(tenantId, resolve);
            workOff();
          });
        },
        end() {
          if (!waiting.delete(controller)) return;
          timer.cancel();
          goOn();
          const left = (ofTenants.get(tenantId) ?? 1) - 1;
          if (left === 0) ofTenants.delete(tenantId);
          else ofTenants.set(tenantId, left);
          request.waitedMs += clock.monotonic() - since;
        },
      };
    },
    close() {
      closed = true;
      for (const controller of waiting) controller.abort();
    },
  };
}

const HINT = 'Wait until one of them returns, or omit "wait" and try again later.';

function tooManyOwn(waiting: number): DomainError {
  return new DomainError('RATE_LIMITED', `${waiting} requests of this tenant are already waiting.`, {
    hint: HINT,
    retryAfterSeconds: 1,
  });
}

function tooMany(): DomainError {
  return new DomainError('UNAVAILABLE', 'Too many requests are already waiting. Nothing was changed.', {
    hint: HINT,
    retryAfterSeconds: 1,
  });
}
