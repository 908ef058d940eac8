import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { Plan } from '../model/tenant.ts';
import { clientOf, createLimiter, rateLimited, setLimitHeaders, type Taken } from './limits.ts';
import type { Problems } from './problems.ts';
import { callerOf } from './request-context.ts';

/** Requests without a valid key that one client may make in a window: enough to fix a typo, too few to guess. */
const ANONYMOUS_RATE_LIMIT = 600;
/** Items of a batch that count as one request. */
const ITEMS_A_REQUEST = 10;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The member of the body whose items are each as much work as a request. */
    batchOf?: string;
  }
}

export interface KeyLimitParts {
  clock: Clock;
  problems: Problems;
  /** Requests of a tenant in a window, by its plan; those that the plan includes, where it is left out. */
  tenantLimit?(plan: Plan): number;
}

/** The limits of a face that is entered with keys. An `admit…` is false where it has answered with 429. */
export interface KeyLimits {
  /** Counts a request that no key vouches for. */
  admitClient(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
  /** Counts a request for its key, and where that lets it through, for its tenant. */
  admitCaller(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
}

/**
 * Limits by key and by tenant, and by client for callers without a key. The headers show whichever limit is closer. What a key is
 * refused does not count for the tenant, so that one key that runs wild leaves the others their share.
 */
export function addKeyLimits(app: FastifyInstance, parts: KeyLimitParts): KeyLimits {
  const { clock, problems, tenantLimit = (plan) => planLimits(plan).requestsPerMinute } = parts;
  const clients = createLimiter(app, clock, { keyOf: clientOf, limitOf: ANONYMOUS_RATE_LIMIT });
  const keys = createLimiter(app, clock, {
    keyOf: (request) => callerOf(request).key.id,
    limitOf: (request) => callerOf(request).key.rateLimit,
  });
  const tenants = createLimiter(app, clock, {
    keyOf: (request) => callerOf(request).tenant.id,
    limitOf: (request) => tenantLimit(effectivePlan(callerOf(request).tenant, clock.now())),
  });

  function answer(request: FastifyRequest, reply: FastifyReply, taken: Taken, whose: string): boolean {
    setLimitHeaders(reply, taken);
    if (taken.retryAfterSeconds === null) return true;
    problems.send(request, reply, rateLimited(taken, whose));
    return false;
  }

  /** A batch counts for its tenant by the items that are begun, known once the body is checked. */
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
