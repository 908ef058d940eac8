import csrfProtection from '@fastify/csrf-protection';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isHttps } from '../http/request-context.ts';
import { DomainError } from '../model/errors.ts';
import { cookieNames, cookieOptions } from './cookies.ts';
import type { DashboardParts } from './parts.ts';

/** Changing requests of other sites are refused: by their `Origin`, and by a token that only our own pages hold. */
export async function addCsrf(app: FastifyInstance, parts: DashboardParts): Promise<void> {
  const secure = isHttps(parts.baseUrl);
  const hmacKey = parts.seededRandom('dashboard csrf').bytes(32).toString('base64');
  await app.register(csrfProtection, {
    cookieKey: cookieNames(secure).csrf,
    cookieOpts: cookieOptions(secure),
    csrfOpts: { hmacKey },
    getUserInfo: sessionOf,
    getToken: (request) => {
      const sent = (request.body as { _csrf?: unknown } | null | undefined)?._csrf;
      return typeof sent === 'string' ? sent : undefined;
    },
    logLevel: 'debug',
  });
  const ownOrigin = new URL(parts.baseUrl).origin;
  app.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD' || request.is404) return done();
    if (!isOwnOrigin(request, ownOrigin)) {
      return done(
        new DomainError('INSUFFICIENT_SCOPE', 'The form was sent from another site; nothing was done.'),
      );
    }
    app.csrfProtection(request, reply, done);
  });
}

/** The value of a form's hidden field. It counts for the session that it was made in. */
export function csrfField(request: FastifyRequest, reply: FastifyReply): string {
  return reply.generateCsrf({ userInfo: sessionOf(request) });
}

function sessionOf(request: FastifyRequest): string {
  return request.signedIn?.session.tokenHash ?? 'nobody';
}

/** By the address that is configured, or by the one that was asked for: behind a tunnel they differ. No `Origin` is no browser's. */
function isOwnOrigin(request: FastifyRequest, ownOrigin: string): boolean {
  const { origin, host } = request.headers;
  if (request.headers['sec-fetch-site'] === 'cross-site') return false;
  if (origin === undefined || origin === ownOrigin) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}
