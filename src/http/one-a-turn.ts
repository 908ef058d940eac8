import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/fifo.ts';

/** A turn's share in the mean of turns. */
const SHARE = 0.05;
/** One long turn, as of a process that stood still, says little of those after it. */
const LONGEST_TURN_MS = 500;

/**
 * Lets a face's requests to their handlers one in each turn of the event loop, in the order in which they came. Node reads
 * all sockets that are ready in one turn, and would answer all their requests before it looks for others: what came just
 * after the look waits for two such rounds. So the slowest tenth of eight callers at once took twice as long as the rest;
 * and a request for liveness would wait for a round of pages, where it now waits for one.
 *
 * Returns how many milliseconds a request would wait that came now: those before it, by what turns take at present.
 */
export function addOneATurn(app: FastifyInstance, clock: Clock): () => number {
  const waiting = createFifo<() => void>();
  let scheduled = false;
  let turnMs = 0;

  function schedule(): void {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    const since = clock.monotonic();
    setImmediate(() => {
      scheduled = false;
      turnMs += (Math.min(LONGEST_TURN_MS, clock.monotonic() - since) - turnMs) * SHARE;
      const go = waiting.shift();
      schedule(); // first, as the handler runs within the call
      go?.();
    });
  }

  app.addHook('preHandler', (_request, _reply, done) => {
    waiting.push(done);
    schedule();
  });
  return () => waiting.size * turnMs;
}
