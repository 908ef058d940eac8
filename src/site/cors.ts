import type { FastifyReply } from 'fastify';
import { sendAllow } from '../http/methods.ts';

/** The methods of everything that the site serves. */
export const SITE_METHODS = 'GET, HEAD, OPTIONS';

/** The answer to OPTIONS on an address that exists; a browser's preflight from any origin is content with it. */
export function sendPreflight(reply: FastifyReply): FastifyReply {
  reply.header('access-control-allow-methods', SITE_METHODS);
  reply.header('access-control-allow-headers', '*');
  reply.header('access-control-max-age', '86400');
  return sendAllow(reply, SITE_METHODS);
}
