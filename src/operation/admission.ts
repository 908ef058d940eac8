import { createHash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** What a proxy adds: who comes through one only looks like this machine itself. */
const PASSED_ON = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/**
 * Who may read how the server is doing: who shows the token where one is set (ADMIN_METRICS_TOKEN), else this machine itself.
 * Returns why a request is refused, or null.
 */
export function createAdmission(token: string | null): (request: FastifyRequest) => string | null {
  if (token === null) return refuseOthers;
  const expected = digest(`bearer ${token}`);
  return ({ headers: { authorization = '' } }) => {
    // Digests have one length, so that the comparison tells nothing of the token's.
    const shown = digest(authorization.replace(/^bearer +/i, 'bearer '));
    return timingSafeEqual(shown, expected)
      ? null
      : 'Show the token of ADMIN_METRICS_TOKEN as a bearer token.';
  };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function refuseOthers({ socket, headers }: FastifyRequest): string | null {
  const address = socket.remoteAddress ?? '';
  const own = LOOPBACK.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  if (own && PASSED_ON.every((name) => headers[name] === undefined)) return null;
  return 'This is told to this machine alone. Set ADMIN_METRICS_TOKEN to read it from elsewhere.';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
