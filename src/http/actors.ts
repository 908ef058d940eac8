import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AuditActor } from '../model/audit.ts';
import type { AuditStore } from '../store/account-store.ts';

/**
 * Records the caller as the actor of every change that a request makes, in the audit list. Add it after all other hooks:
 * earlier ones may continue in another request's async context.
 */
export function recordActors(
  app: FastifyInstance,
  store: AuditStore,
  actorOf: (request: FastifyRequest) => AuditActor | null,
): void {
  app.addHook('preHandler', (request, _reply, done) => {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    store.as(reads ? null : actorOf(request), done);
  });
}
