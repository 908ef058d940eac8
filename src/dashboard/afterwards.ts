import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DashboardParts } from './parts.ts';

/**
 * Runs work once the answer is on its way, as nobody's doing: how long it takes, and whether there is any, must not be seen
 * from outside. Where it fails, `fault` says in the log what came of it.
 */
export function afterAnswer(
  { store, logger }: Pick<DashboardParts, 'store' | 'logger'>,
  { request, reply, fault }: { request: FastifyRequest; reply: FastifyReply; fault: string },
): (work: () => Promise<void>) => void {
  return (work) => {
    reply.raw.once('close', () => {
      store.as(null, work).catch((err: unknown) => logger.error({ err, request_id: request.id }, fault));
    });
  };
}
