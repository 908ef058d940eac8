import type { FastifyInstance } from 'fastify';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { clientOf, createLimiter, rateLimited, type WindowState } from '../http/limits.ts';
import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Plan } from '../model/tenant.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What every page loads besides itself: it costs nothing, and counts for nobody. */
    isAsset?: true;
  }
}

/** Requests in a minute. */
export interface DashboardLimits {
  /** Of one browser that is signed in. */
  session: number;
  /** Of one client, signed in or not: more than a session, as an office shares an address. */
  client: number;
  /** Of everybody of a tenant together. */
  tenant(plan: Plan): number;
}

/** Those of a server, by what one browser may ask. */
export function dashboardLimits(session: number): DashboardLimits {
  return { session, client: 2 * session, tenant: (plan) => planLimits(plan).requestsPerMinute };
}

/**
 * Counts each request for its client, and one with a session for that and for its tenant. To be added after the hook that
 * knows the session. What one limit refuses does not count for those after it.
 */
export function addRequestLimits(
  app: FastifyInstance,
  { clock, limits }: { clock: Clock; limits: DashboardLimits },
): void {
  const clients = createLimiter(app, clock, { keyOf: clientOf, limitOf: limits.client });
  const sessions = createLimiter(app, clock, {
    keyOf: (request) => request.signedIn?.session.tokenHash ?? '',
    limitOf: limits.session,
  });
  const tenants = createLimiter(app, clock, {
    keyOf: (request) => request.signedIn?.tenant.id ?? '',
    limitOf: ({ signedIn }) =>
      signedIn === null ? 0 : limits.tenant(effectivePlan(signedIn.tenant, clock.now())),
  });

  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.isAsset === true) return;
    refuse(await clients.take(request), 'The limit of your network address');
    if (request.signedIn === null) return;
    refuse(await sessions.take(request), 'The limit of one browser');
    refuse(await tenants.take(request), 'The limit of your account');
  });
}

/** @throws DomainError `RATE_LIMITED` */
function refuse(taken: WindowState, whose: string): void {
  if (taken.retryAfterSeconds === null) return;
  const { code, detail, extra } = rateLimited(taken, whose);
  throw new DomainError(code, detail, extra);
}
