import type { FastifyInstance, FastifyRequest } from 'fastify';
import { openSession } from '../accounts/sign-in.ts';
import { collectMethods, sendAllow } from '../http/methods.ts';
import { pathOf } from '../http/request-path.ts';
import { DomainError } from '../model/errors.ts';
import type { OpenSession } from '../store/session-store.ts';
import { sessionCookie } from './cookies.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose browser asks; null where nobody is signed in. Only the dashboard looks. */
    signedIn: OpenSession | null;
  }
  interface FastifyContextConfig {
    /** A screen that needs no session. */
    open?: true;
    /** A change that a reader may make too. */
    forReaders?: true;
  }
}

/** Nothing is loaded from elsewhere, nothing runs or is styled in the page itself, no other page frames it. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "img-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
};

/** Every request: who asks, whether the screen is there, and whether it may be seen. */
export function addGate(app: FastifyInstance, parts: DashboardParts, show: () => Show): void {
  const methods = collectMethods(app);
  const cookie = sessionCookie(parts.baseUrl);

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    const token = cookie.read(request);
    request.signedIn = token === null ? null : await openSession(parts, token);
    if (request.is404) {
      const path = pathOf(request.originalUrl);
      const allow = methods.allow(path.replace(/\/+$/, ''));
      if (allow === null) return undefined;
      if (path.endsWith('/')) return reply.redirect(path.replace(/\/+$/, ''), 308);
      if (request.method === 'OPTIONS') {
        sendAllow(reply, allow);
        return reply;
      }
      reply.header('allow', allow);
      throw new DomainError('METHOD_NOT_ALLOWED', `${request.method} is not served here; ${allow} are.`);
    }
    const { open } = request.routeOptions.config;
    if (request.signedIn === null && open !== true) {
      const next = request.method === 'GET' ? `?next=${encodeURIComponent(request.originalUrl)}` : '';
      return reply.redirect(`/dashboard/login${next}`, 303);
    }
    return undefined;
  });
  app.addHook('preHandler', (request, _reply, done) => {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    const { open, forReaders } = request.routeOptions.config;
    if (reads || open === true || forReaders === true || request.signedIn?.user.role !== 'reader')
      return done();
    done(
      new DomainError(
        'INSUFFICIENT_SCOPE',
        'You may look at everything here, and change nothing. Ask an owner.',
      ),
    );
  });
  app.setNotFoundHandler((request, reply) =>
    show()(request, reply, {
      template: 'error',
      title: 'Not found',
      status: 404,
      detail: 'There is no such page. It may have been deleted, or the address is mistyped.',
    }),
  );
}

/** Who asks on a screen behind the gate. */
export function memberOf(request: FastifyRequest): OpenSession {
  if (request.signedIn === null) throw new Error('the screen is not behind the gate');
  return request.signedIn;
}

/** @throws DomainError `INSUFFICIENT_SCOPE` for everybody but owners */
export function ownerOf(request: FastifyRequest): OpenSession {
  const member = memberOf(request);
  if (member.user.role === 'owner') return member;
  throw new DomainError('INSUFFICIENT_SCOPE', 'Only an owner of the account may do that.');
}
