import type { FastifyReply } from 'fastify';

/** Adds to the answer's `Link` header (RFC 8288), which may hold links of others already. */
export function addLink(reply: FastifyReply, link: string): void {
  const present = reply.getHeader('link');
  reply.header('link', present === undefined ? link : `${String(present)}, ${link}`);
}
