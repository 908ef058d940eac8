import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { createFairQueue } from '../lib/queues.ts';
import { createTurnRunner, inLaterTurn, lineWaitMs, onBehalfOf } from '../lib/yielding.ts';
import { type LoadGate, overloaded } from './load.ts';

/** Returns a function that requests one call of `run`, at the end of the current turn of the event loop. */
export function oncePerTurn(run: () => void): () => void {
  let isRequested = false;
  return () => {
    if (isRequested) return;
    isRequested = true;
    inLaterTurn(() => {
      isRequested = false;
      run();
    });
  };
}

/** Handlers that take less than this together are started in the same turn. */
const HANDLERS_MS = 1;
/** A request that waited longer is refused: it has changed nothing yet, and its response would come too late. */
const LONGEST_WAIT_MS = 1_500;

interface QueuedRequest {
  since: number;
  /** Whether its client has disconnected and the request would change nothing. */
  isAbandoned(): boolean;
  go(error?: Error): void;
}

interface TurnDeps {
  clock: Clock;
  load: LoadGate;
}

/** Starts the handlers of the routes that are added to a face from now on in turns with those of the other faces. */
export type HandleInTurns = (app: FastifyInstance) => void;

/**
 * Starts handlers for about a millisecond per event-loop turn, and at least one: tenants take turns, and each tenant's
 * requests on all faces are handled in order of arrival, so that a tenant's flood delays its own requests. Node reads all sockets that
 * are ready in one turn, and would process all their requests before it polls again: a request that arrives just after
 * the poll waits for two such rounds. The slowest tenth of the requests of eight concurrent callers took twice as long as
 * the rest, and a liveness check waited for a round of pages, where it now waits for one page.
 *
 * The load gate gets the current wait in milliseconds: queued requests times the average length of a turn. Turns get
 * longer once refused callers retry at once: of 512 requests admitted together, the last waited 9 s. Therefore a
 * request whose turn comes too late is refused as well. A read whose client has disconnected is not handled at all.
 */
export function createHandlerTurns({ clock, load }: TurnDeps): HandleInTurns {
  const waiting = createFairQueue<QueuedRequest>();
  const { workOff, eachMs } = createTurnRunner({
    size: () => waiting.size,
    next: () => nextInTime(clock.monotonic())?.go,
    maxMs: HANDLERS_MS,
    now: clock.monotonic,
  });

  /** Refusing is cheap: it does not take a turn. */
  function nextInTime(now: number): QueuedRequest | undefined {
    for (let next = waiting.next(); next !== undefined; next = waiting.next()) {
      if (next.isAbandoned()) continue;
      if (now - next.since <= LONGEST_WAIT_MS) return next;
      next.go(overloaded(load.refuse('turns', waitMs())));
    }
    return undefined;
  }

  const waitMs = () => waiting.size * eachMs();
  load.watchTurns(waitMs);
  load.watchTurns(lineWaitMs);
  return (app) => {
    app.addHook('preHandler', (request, reply, done) => {
      const { owner } = request;
      const reads = request.method === 'GET' || request.method === 'HEAD';
      waiting.push(owner, {
        since: clock.monotonic(),
        isAbandoned: () => reads && reply.raw.destroyed,
        go: (error) => onBehalfOf(owner, () => done(error)),
      });
      workOff();
    });
  };
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
