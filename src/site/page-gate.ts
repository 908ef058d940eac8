import type { FastifyInstance, FastifyRequest } from 'fastify';
import { collectMethods } from '../http/methods.ts';
import { CACHE_BRIEFLY } from '../http/representation.ts';
import { isMalformed, pathOf } from '../http/request-path.ts';
import { withoutTrailingSlashes } from '../lib/text.ts';
import { SITE_METHODS, sendPreflight } from './cors.ts';
import type { PageErrors } from './page-errors.ts';

const SERVED = new Set(['GET', 'HEAD']);
const EXPOSED = ['ETag', 'Link', 'X-Markdown-Tokens', 'X-Request-Id'].join(', ');

/**
 * Answers the site's requests that no route takes, before any body is read: an address that cannot be decoded 400, a
 * trailing slash 308 to the address without it, OPTIONS 204, another method 405, an unknown page 404.
 */
export function addPageGate(app: FastifyInstance, errors: PageErrors): void {
  const routes = collectMethods(app);
  const exists = (path: string) => routes.allow(path) !== null;

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('access-control-allow-origin', '*');
    reply.header('access-control-expose-headers', EXPOSED);
    const rewritten = request.raw.url !== request.originalUrl;
    if (!request.is404 && !(rewritten && isMalformed(request.originalUrl))) return done();

    if (isMalformed(request.originalUrl)) {
      errors.badAddress(request, reply);
      return;
    }
    const path = pathOf(request.originalUrl);
    const bare = withoutTrailingSlashes(path) || '/';
    if (!exists(bare)) {
      errors.notFound(request, reply);
    } else if (request.method === 'OPTIONS') {
      sendPreflight(reply);
    } else if (!SERVED.has(request.method)) {
      reply.header('allow', SITE_METHODS);
      errors.methodNotAllowed(request, reply);
    } else {
      // Only a path that is known is redirected to, so that no `//evil` can become the address of another host.
      const location = `${bare}${queryOf(request)}`;
      reply.headers({ location, 'cache-control': CACHE_BRIEFLY, 'content-length': '0' }).code(308).send();
    }
  });
  app.setNotFoundHandler((request, reply) => errors.notFound(request, reply));
}

function queryOf({ originalUrl }: FastifyRequest): string {
  const start = originalUrl.indexOf('?');
  return start === -1 ? '' : originalUrl.slice(start);
}
