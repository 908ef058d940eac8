import type { FastifyInstance } from 'fastify';

/**
 * Lets the requests of one turn of the event loop to their handlers together, at its end. Node reads all sockets that are
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
