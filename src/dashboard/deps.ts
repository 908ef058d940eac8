import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { SessionLife } from '../accounts/sign-in.ts';
import { clientOf, createLimiter, refuseOver } from '../http/limits.ts';
import type { LoadGate } from '../http/load.ts';
import type { HandleInTurns } from '../http/turns.ts';
import type { LeadDeps } from '../leads/changes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import type { Plan } from '../model/tenant.ts';
import type { Place } from '../signals/places.ts';
import type { SourcePreview } from '../signals/source-management.ts';
import type { Suggester } from '../signals/suggestions.ts';
import type { Store } from '../store/store.ts';
import type { EndpointDeps } from '../webhooks/endpoints.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';

/** The dependencies of the dashboard. */
export interface DashboardDeps extends LeadDeps, EndpointDeps {
  logger: Logger;
  cursors: Cursors;
  /** Rejects requests while the server is overloaded. */
  load: LoadGate;
  handleInTurns: HandleInTurns;
  seededRandom: SeededRandom;
  /**
   * Why crawlers may not read an address; null if they may, or if that is unknown. Omitted if it cannot be
   * determined.
   */
  refusalOf?: (tenantId: string, address: string) => Promise<string | null>;
  /** What a source would have returned in the last 24 hours; omitted: it cannot be read. */
  previewSource?: (
    tenantId: string,
    profileId: string,
    place: Pick<Place, 'kind' | 'settings'>,
  ) => Promise<SourcePreview>;
  /** Rate limits per minute. */
  dashboardLimits: DashboardLimits;
  /** How long sessions last. Default: `SESSION_LIFE`. */
  sessionLife?: SessionLife;
  sendTest: SendTest;
  suggester: Suggester;
  /** Whether a mail server is configured; otherwise mail stays in the outbox. */
  sendsMail: boolean;
  /** The published address ranges that deliveries are sent from. */
  sourceIps: readonly string[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Assets that every page loads: they are cheap, and do not count towards the limits. */
    isAsset?: true;
  }
}

/** Requests per minute. */
export interface DashboardLimits {
  /** Per browser session. */
  session: number;
  /** Per client address, signed in or not. Higher than for a session, because offices share an address. */
  client: number;
  /** For all users of a tenant together. */
  tenant(plan: Plan): number;
}

/** The limits of a server, derived from the limit of one browser session. */
export function dashboardLimits(session: number): DashboardLimits {
  return { session, client: 2 * session, tenant: (plan) => planLimits(plan).requestsPerMinute };
}

/**
 * Counts each request against its client address and, with a session, against the session and its tenant. Register it
 * after the hook that loads the session. A request that one limit refuses does not count towards the following ones.
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
    refuseOver(await clients.take(request), 'The limit of your network address');
    if (request.signedIn === null) return;
    refuseOver(await sessions.take(request), 'The limit of one browser');
    refuseOver(await tenants.take(request), 'The limit of your account');
  });
}
