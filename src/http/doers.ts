import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AuditActor } from '../model/audit.ts';
import type { AuditStore } from '../store/audit-store.ts';

/**
 * Has what each request of a face changes stand in the audit list as its caller's doing, whichever handler and use case
 * change it. To be added after every other hook: what comes before may go on in another request's turn.
 */
export function addDoers(
  app: FastifyInstance,
  store: AuditStore,
  actorOf: (request: FastifyRequest) => AuditActor | null,
): void {
  app.addHook('preHandler', (request, _reply, done) => {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    store.as(reads ? null : actorOf(request), done);
  });
}
