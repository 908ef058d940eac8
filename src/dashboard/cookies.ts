import csrfProtection from '@fastify/csrf-protection';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SESSION_LIFE, type SessionLife } from '../accounts/sign-in.ts';
import { isHttps } from '../http/request-context.ts';
import { parseUrl, percentDecoded } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';
import type { DashboardDeps } from './deps.ts';

/** How values of cookies are written and read: 15 KB of invalid ones took 10 ms with the usual decoder. */
export const COOKIE_CODING = { encode: encodeURIComponent, decode: percentDecoded };

/** Browsers accept a `__Host-` cookie only over HTTPS and only for that exact host. */
function cookieNames(secure: boolean): { session: string; csrf: string } {
  return secure
    ? { session: '__Host-signalpost', csrf: '__Host-signalpost-form' }
    : { session: 'signalpost', csrf: 'signalpost-form' };
}

/** `Lax`: links in mails open signed-in pages, but forms on other sites are sent without the cookie. */
export function cookieOptions(secure: boolean) {
  return { path: '/', httpOnly: true, secure, sameSite: 'lax' } as const;
}

/** The session cookie. */
export function sessionCookie({
  baseUrl,
  sessionLife = SESSION_LIFE,
}: {
  baseUrl: string;
  sessionLife?: SessionLife;
}) {
  const secure = isHttps(baseUrl);
  const { session: name } = cookieNames(secure);
  return {
    read: (request: FastifyRequest): string | null => request.cookies[name] ?? null,
    set: (reply: FastifyReply, token: string): void =>
      void reply.setCookie(name, token, {
        ...cookieOptions(secure),
        maxAge: sessionLife.longestDays * 24 * 3_600,
      }),
    clear: (reply: FastifyReply): void => void reply.clearCookie(name, cookieOptions(secure)),
  };
}

/**
 * Rejects state-changing requests from other sites, by their `Origin` and by a CSRF token that only our own pages
 * contain.
 */
export async function addCsrf(app: FastifyInstance, deps: DashboardDeps): Promise<void> {
  const secure = isHttps(deps.baseUrl);
  const hmacKey = deps.seededRandom('dashboard csrf').bytes(32).toString('base64');
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
  const ownOrigin = new URL(deps.baseUrl).origin;
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

/** The value of a form's hidden CSRF field. It is valid only for the session that it was created in. */
export function csrfField(request: FastifyRequest, reply: FastifyReply): string {
  return reply.generateCsrf({ userInfo: sessionOf(request) });
}

function sessionOf(request: FastifyRequest): string {
  return request.signedIn?.session.tokenHash ?? 'nobody';
}

/**
 * Compares with the configured address, and with the requested one: behind a tunnel they differ. A request without
 * `Origin` was not sent by a browser.
 */
function isOwnOrigin(request: FastifyRequest, ownOrigin: string): boolean {
  const { origin, host } = request.headers;
  if (request.headers['sec-fetch-site'] === 'cross-site') return false;
  if (origin === undefined || origin === ownOrigin) return true;
  return parseUrl(origin)?.host === host;
}
