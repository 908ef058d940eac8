import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { SessionLife } from '../accounts/sign-in.ts';
import { clientOf, createLimiter, rateLimited, type WindowState } from '../http/limits.ts';
import type { LoadGate } from '../http/load.ts';
import type { LeadDeps } from '../leads/changes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import { DomainError } from '../model/errors.ts';
import type { Plan } from '../model/tenant.ts';
import type { Place } from '../signals/places.ts';
import type { SourcePreview } from '../signals/source-management.ts';
import type { Suggester } from '../signals/suggestions.ts';
import type { Store } from '../store/store.ts';
import type { EndpointDeps } from '../webhooks/endpoints.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';

/** What the dashboard needs of the process. */
export interface DashboardDeps extends LeadDeps, EndpointDeps {
  logger: Logger;
  cursors: Cursors;
  /** Turns requests away while there are too many. */
  load: LoadGate;
  seededRandom: SeededRandom;
  /** Why a program may not read an address, null where it may or that is not known; left out: nobody can tell. */
  refusalOf?: (address: string) => Promise<string | null>;
  /** What a source would have returned in the last 24 hours; omitted: it cannot be read. */
  previewSource?: (
    tenantId: string,
    profileId: string,
    place: Pick<Place, 'kind' | 'settings'>,
  ) => Promise<SourcePreview>;
  /** How much may be asked of it in a minute. */
  dashboardLimits: DashboardLimits;
  /** How long sessions last; as `SESSION_LIFE`, where it is left out. */
  sessionLife?: SessionLife;
  sendTest: SendTest;
  suggester: Suggester;
  /** Whether there is a mail server; else mail is kept in the outbox alone. */
  sendsMail: boolean;
  /** Address ranges that deliveries come from, as published. */
  sourceIps: readonly string[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Assets that every page loads: they are cheap, and do not count. */
    isAsset?: true;
  }
}

/** Requests in a minute. */
export interface DashboardLimits {
  /** Of one browser that is signed in. */
  session: number;
  /** Of one client, signed in or not: more than a session, as an office shares an address. */
  client: number;
  /** For all users of a tenant together. */
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
  { clock, limits, store }: { clock: Clock; limits: DashboardLimits; store: Pick<Store, 'shareCounts'> },
): void {
  const clients = createLimiter(app, clock, { keyOf: clientOf, limitOf: limits.client });
  const sessions = createLimiter(app, clock, {
    keyOf: (request) => request.signedIn?.session.tokenHash ?? '',
    limitOf: limits.session,
  });
  const tenants = createLimiter(app, clock, {
    shared: { name: 'dashboard tenants', shareCounts: store.shareCounts },
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
