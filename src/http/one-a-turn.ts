import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/fifo.ts';
import type { LoadGate } from './load.ts';
import { overloaded } from './shedding.ts';

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
 * Lets a face's requests to their handlers one in each turn of the event loop, in the order in which they came. Node reads
 * all sockets that are ready in one turn, and would answer all their requests before it looks for others: what came just
 * after the look waits for two such rounds. So the slowest tenth of eight callers at once took twice as long as the rest;
 * and a request for liveness would wait for a round of pages, where it now waits for one.
 *
 * The load gate learns how many milliseconds a request would wait that came now: those before it, by what turns take at
 * present. Turns get longer once callers are refused that come again at once: of 512 that were let in together the last
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
