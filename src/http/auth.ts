import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { allows, hashApiKey, isWellFormedApiKey, keyRefusal } from '../accounts/keys.ts';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import { onBehalfOf, unknownOwner } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type { Scope } from '../model/key.ts';
import type { Plan } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';
import { clientOf, createLimiter, rateLimited, setLimitHeaders, type WindowState } from './limits.ts';
import type { Problems } from './problems.ts';
import { type Caller, callerOf } from './request-context.ts';

export { callerOf };

/** The last use of a key is stored at most once per minute. */
const TOUCH_EVERY_MS = 60_000;

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The scope that a key needs for the route; `any`: any valid key, `none`: no key. Required on every /v1 route.
     */
    scope?: Scope | 'any' | 'none';
  }
}

export interface AuthDeps {
  store: Store;
  clock: Clock;
  limits: KeyLimits;
  /** Resolves an access token to its caller; omitted if the face accepts only API keys. @throws DomainError */
  identifyToken?: ((token: string) => Promise<Caller>) | null;
}

/** Admits requests to a face only with a valid key, within the key's rate limit, and with the scope of the route. */
export function addAuthentication(app: FastifyInstance, deps: AuthDeps): void {
  // Fail closed: a route without a scope must fail at startup, not be open.
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.scope === undefined) throw new Error(`${method} ${url} names no scope`);
  });
  app.addHook('onRequest', async (request, reply) => {
    const scope = request.routeOptions.config.scope;
    if (scope === 'none') return (await deps.limits.admitClient(request, reply)) ? undefined : reply;
    const caller = await identify(request, deps).catch((error: Error) => error);
    if (caller === null || caller instanceof Error) {
      // Failed attempts are limited, too, so that keys cannot be guessed, and the response carries the limit.
      if (await deps.limits.admitClient(request, reply)) throw caller ?? unauthenticated(request);
      return reply;
    }
    request.caller = caller;
    if (!(await deps.limits.admitCaller(request, reply))) return reply;
    touch(caller, deps);
    if (scope !== undefined && scope !== 'any' && !allows(caller.key.scopes, scope))
      throw insufficient(scope);
    return undefined;
  });
}

/**
 * Looks up the caller. Callers take turns by their credentials, because the tenant is not known yet: two hundred connections with one key made
 * other callers wait for up to 2.5 s.
 */
async function identify(
  request: FastifyRequest,
  { store, clock, identifyToken = null }: AuthDeps,
): Promise<Caller | null> {
  const token = bearerOf(request);
  // A JWT contains dots (RFC 7519, section 3), an API key does not.
  if (identifyToken !== null && token?.includes('.'))
    return onBehalfOf(unknownOwner(token), () => identifyToken(token));
  // The check characters reject a typo without a query to the store.
  if (token === null || !isWellFormedApiKey(token)) return null;
  const hash = hashApiKey(token);
  const found = await onBehalfOf(unknownOwner(hash), () => store.findKey(hash));
  return found !== null && keyRefusal(found.key, clock.now()) === null ? found : null;
}

/** RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1). */
function bearerOf(request: FastifyRequest): string | null {
  return /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

/** Not awaited: recording a key's last use must neither delay nor fail the request. */
function touch({ key }: Caller, { store, clock }: AuthDeps): void {
  const now = clock.now();
  if (key.lastUsedAt !== null && now - key.lastUsedAt < TOUCH_EVERY_MS) return;
  store.touchKey(key.id, now).catch(() => undefined);
}

/** Does not reveal whether a key is unknown, revoked or expired: that would confirm that a leaked key was real. */
function unauthenticated(request: FastifyRequest): DomainError {
  const sent = request.headers.authorization;
  const token = bearerOf(request);
  if (sent === undefined) return refused('No API key was sent.');
  if (token === null) return refused('The Authorization header is not of the form "Bearer KEY".');
  if (!isWellFormedApiKey(token))
    return refused('The API key is mistyped: its check characters do not match.');
  return refused('The API key is not valid.');
}

function refused(detail: string): DomainError {
  return new DomainError('UNAUTHENTICATED', detail, {
    hint: 'Send an API key as "Authorization: Bearer sp_live_…".',
  });
}

function insufficient(scope: Scope): DomainError {
  return new DomainError('INSUFFICIENT_SCOPE', `The API key lacks the scope "${scope}".`, {
    hint: `Use a key with the scope "${scope}".`,
    members: { required_scope: scope },
  });
}

/** Maximum number of requests without a valid key per client and window: enough to fix a typo, too few to guess. */
const ANONYMOUS_RATE_LIMIT = 600;
/** Number of batch items that count as one request. */
const ITEMS_A_REQUEST = 10;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The member of the body whose items each cost as much as a request. */
    batchOf?: string;
  }
}

export interface KeyLimitDeps {
  clock: Clock;
  problems: Problems;
  store: Store;
  /** Requests per tenant and window, by plan. Default: the limit of the plan. */
  tenantLimit?(plan: Plan): number;
}

/** The limits of a face that uses API keys. An `admit…` method returns false if it has answered with 429. */
interface KeyLimits {
  /** Counts a request without a valid key. */
  admitClient(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
  /** Counts a request for its key and, if that admits it, for its tenant. */
  admitCaller(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
}

/**
 * Limits per key and tenant, and per client address for callers without a key. The headers show the limit with fewer
 * requests left. A request that its key's limit refuses does not count for the tenant, so that one runaway key does
 * not exhaust the shares of the others.
 */
export function addKeyLimits(app: FastifyInstance, deps: KeyLimitDeps): KeyLimits {
  const { clock, problems, tenantLimit = (plan) => planLimits(plan).requestsPerMinute } = deps;
  const clients = createLimiter(app, clock, { keyOf: clientOf, limitOf: ANONYMOUS_RATE_LIMIT });
  const { shareCounts } = deps.store;
  const sharedAs = (name: string) => ({ name: `${app.prefix} ${name}`, shareCounts });
  const keys = createLimiter(app, clock, {
    shared: sharedAs('keys'),
    keyOf: (request) => callerOf(request).key.id,
    limitOf: (request) => callerOf(request).key.rateLimit,
  });
  const tenants = createLimiter(app, clock, {
    shared: sharedAs('tenants'),
    keyOf: (request) => callerOf(request).tenant.id,
    limitOf: (request) => tenantLimit(effectivePlan(callerOf(request).tenant, clock.now())),
  });

  function answer(request: FastifyRequest, reply: FastifyReply, taken: WindowState, whose: string): boolean {
    setLimitHeaders(reply, taken);
    if (taken.retryAfterSeconds === null) return true;
    problems.send(request, reply, rateLimited(taken, whose));
    return false;
  }

  /** A batch counts for its tenant by every ten items begun; their number is known after the body is validated. */
  app.addHook('preHandler', async (request, reply) => {
    const items = itemsOf(request);
    if (items <= ITEMS_A_REQUEST) return undefined;
    const taken = tenants.takeMore(request, Math.ceil(items / ITEMS_A_REQUEST) - 1);
    const shown = Number(reply.getHeader('ratelimit-remaining'));
    if (taken.retryAfterSeconds === null && taken.remaining >= shown) return undefined;
    const whose = `A batch counts as a request for every ${ITEMS_A_REQUEST} items: the limit`;
    return answer(request, reply, taken, whose) ? undefined : reply;
  });

  return {
    admitClient: async (request, reply) => answer(request, reply, await clients.take(request), 'The limit'),
    async admitCaller(request, reply) {
      const ofKey = await keys.take(request);
      if (ofKey.retryAfterSeconds !== null) return answer(request, reply, ofKey, "The key's limit");
      const ofTenant = await tenants.take(request);
      const tells = ofTenant.retryAfterSeconds !== null || ofTenant.remaining < ofKey.remaining;
      return tells
        ? answer(request, reply, ofTenant, 'The limit of all keys together')
        : answer(request, reply, ofKey, "The key's limit");
    },
  };
}

function itemsOf({ body, routeOptions: { config } }: FastifyRequest): number {
  if (config.batchOf === undefined || typeof body !== 'object' || body === null) return 0;
  const items: unknown = Reflect.get(body, config.batchOf);
  return Array.isArray(items) ? items.length : 0;
}
