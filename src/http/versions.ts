import type { FastifyReply } from 'fastify';

/** The one version label that is served (specification of the public API, section 9). */
export const API_VERSION = 'v1';

/** Headers of every API answer, errors included: the version, and that nothing may keep a copy. */
export function setApiHeaders(reply: FastifyReply): void {
  reply.header('x-api-version', API_VERSION);
  reply.header('cache-control', 'no-store');
}
