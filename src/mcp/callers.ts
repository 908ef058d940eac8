import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Problems } from '../http/problems.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses what a web page could make a browser send (DNS rebinding): a `Host` that is neither ours nor an address, and an
 * `Origin` of somewhere else.
 */
export function refuseForeignCallers(
  app: FastifyInstance,
  { problems, baseUrl }: { problems: Problems; baseUrl: string },
): void {
  const own = new URL(baseUrl).hostname;
  const isOurs = (hostname: string) => hostname === own || LOOPBACK.has(hostname);
  app.addHook('onRequest', (request, reply, done) => {
    const { host, origin } = request.headers;
    const asked = hostnameOf(`http://${host ?? ''}`);
    const isForeign =
      asked === null || !(isOurs(asked) || isIP(asked.replace(/^\[|\]$/g, '')) !== 0)
        ? 'Host'
        : origin !== undefined && !isOurs(hostnameOf(origin) ?? '')
          ? 'Origin'
          : null;
    if (isForeign === null) return done();
    problems.send(request, reply, {
      code: 'INVALID_REQUEST',
      status: 403,
      detail: `The ${isForeign} header names another site.`,
      extra: { hint: `Send requests to ${baseUrl}/mcp, and not from a web page of another site.` },
    });
  });
}

function hostnameOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).hostname : null;
}
