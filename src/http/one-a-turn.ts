import type { FastifyInstance } from 'fastify';
import { createFifo } from '../lib/fifo.ts';

/**
 * Lets a face's requests to their handlers one in each turn of the event loop, in the order in which they came. Node reads
 * all sockets that are ready in one turn, and would answer all their requests before it looks for others: what came just
 * after the look waits for two such rounds. So the slowest tenth of eight callers at once took twice as long as the rest;
 * and a request for liveness would wait for a round of pages, where it now waits for one.
 */
export function addOneATurn(app: FastifyInstance): void {
  const waiting = createFifo<() => void>();
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      const go = waiting.shift();
      schedule(); // first, as the handler runs within the call
      go?.();
    });
  }

  app.addHook('preHandler', (_request, _reply, done) => {
    waiting.push(done);
    schedule();
  });
}
