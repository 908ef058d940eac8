import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { openSession } from '../accounts/sign-in.ts';
import { collectMethods, type MethodTable, sendAllow } from '../http/face-gate.ts';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { pathOf } from '../http/request-path.ts';
import type { LeadCaller } from '../leads/changes.ts';
import { withoutTrailingSlashes } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';
import type { Role } from '../model/tenant.ts';
import type { OpenSession } from '../store/account-store.ts';
import { sessionCookie } from './cookies.ts';
import { addRequestLimits, type DashboardDeps } from './deps.ts';
import type { Show } from './screens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in user; null if there is none. Set by the dashboard only. */
    signedIn: OpenSession | null;
  }
  interface FastifyContextConfig {
    /** A screen that requires no session. */
    open?: true;
    /** A change that every signed-in user may make, because it concerns only themselves. */
    forReaders?: true;
    /** A change that only owners may make. */
    forOwners?: true;
    /** A screen that consists of a form: users without the permission see the refusal before they fill it in. */
    onlyToChange?: true;
  }
}

/** Nothing is loaded from elsewhere, no inline script or style runs, and no other page may frame it. */
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

const NAMED_OWNERS = 3;
/** A company's screen uses its domain as ID (RFC 1035, section 2.3.4). */
const MAX_PARAM_CHARS = 255;

/** Runs before every request: loads the session, and checks that the screen exists and that the user may see it. */
export function addGate(app: FastifyInstance, deps: DashboardDeps, show: () => Show): void {
  const methods = collectMethods(app);
  const cookie = sessionCookie(deps);

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    const token = cookie.read(request);
    request.signedIn = token === null ? null : await openSession(deps, token);
  });
  addRequestLimits(app, { ...deps, limits: deps.dashboardLimits });
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) {
      const path = pathOf(request.originalUrl);
      const bare = withoutTrailingSlashes(path);
      const allow = methods.allow(bare);
      if (allow === null) return undefined;
      if (path !== bare) return reply.redirect(bare, 308);
      if (request.method === 'OPTIONS') {
        sendAllow(reply, allow);
        return reply;
      }
      // The address of a form's response, reloaded or bookmarked: redirect to the parent screen, which has the form.
      if (request.method === 'GET') return reply.redirect(screenAbove(bare, methods), 303);
      reply.header('allow', allow);
      throw new DomainError('METHOD_NOT_ALLOWED', `${request.method} is not supported here. Use ${allow}.`);
    }
    const { open } = request.routeOptions.config;
    if (request.signedIn === null && open !== true) {
      const next = request.method === 'GET' ? `?next=${encodeURIComponent(request.originalUrl)}` : '';
      return reply.redirect(`/dashboard/login${next}`, 303);
    }
    return undefined;
  });
  app.addHook('preHandler', async (request) => {
    refuseLongIds(request);
    if (request.signedIn === null) return;
    const { config } = request.routeOptions;
    const looks = request.method === 'GET' || request.method === 'HEAD';
    if (looks && config.onlyToChange !== true) return;
    const refused = refusalFor(request.signedIn.user.role, config);
    if (refused !== null) throw await notAllowed(deps, request.signedIn.tenant.id, refused);
  });
  app.setNotFoundHandler((request, reply) =>
    show()(request, reply, {
      template: 'error',
      title: 'Not found',
      status: 404,
      detail: 'This page does not exist. It may have been deleted, or the address may be mistyped.',
    }),
  );
}

/** The nearest parent path that has a screen. */
function screenAbove(path: string, methods: MethodTable): string {
  let above = path;
  do above = above.slice(0, above.lastIndexOf('/'));
  while (above.includes('/', 1) && methods.allow(above)?.includes('GET') !== true);
  return above;
}

/** The session of a request behind the gate. */
export function memberOf(request: FastifyRequest): OpenSession {
  if (request.signedIn === null) throw new Error('the screen is not behind the gate');
  return request.signedIn;
}

/**
 * No ID, domain or suggestion is that long: schemas would reject it with a fault that belongs to no field of the
 * screen.
 */
function refuseLongIds({ params }: FastifyRequest): void {
  const values: unknown[] = Object.values(params ?? {});
  if (values.every((value) => typeof value !== 'string' || value.length <= MAX_PARAM_CHARS)) return;
  throw new DomainError('NOT_FOUND', 'This page does not exist. The address is too long.');
}

/** Why this role may not make a change; null if it may. Checked per route, so that no handler can forget it. */
function refusalFor(role: Role, { open, forReaders, forOwners }: FastifyContextConfig): string | null {
  if (open === true || forReaders === true || role === 'owner') return null;
  if (role === 'reader') return 'You have read-only access.';
  return forOwners === true ? 'Only an owner of this account can do that.' : null;
}

/** An error that names the owners who can do what this user may not. */
async function notAllowed({ store }: DashboardDeps, tenantId: string, detail: string): Promise<DomainError> {
  const owners = (await store.listMembers(tenantId)).filter(({ role }) => role === 'owner');
  const names = owners.slice(0, NAMED_OWNERS).map(({ email }) => email);
  return new DomainError('INSUFFICIENT_SCOPE', detail, { hint: `Ask an owner: ${names.join(', ')}.` });
}

/** The user who changes a lead, as its history shows them. */
export function leadCallerOf(request: FastifyRequest): LeadCaller {
  const { tenant, user } = memberOf(request);
  return { tenantId: tenant.id, actor: { id: user.id, name: user.email } };
}

/** Validates form data with the schema that the API uses for bodies. @throws DomainError `INVALID_REQUEST` */
export function checked<S extends z.ZodType>(schema: S, data: unknown): z.output<S> {
  const result = check(schema, data, 'body');
  if (result.ok) return result.value;
  throw refusal(result, 'body');
}
