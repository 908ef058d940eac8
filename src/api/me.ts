import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { callerOf } from '../http/auth.ts';
import { toIso } from '../lib/clock.ts';
import { scopeSchema } from '../model/key.ts';
import { planSchema } from '../model/tenant.ts';
import { MAX_PROFILES } from '../signals/profiles.ts';
import type { ApiParts } from './parts.ts';

const meSchema = z.strictObject({
  tenant: z.strictObject({ id: z.string(), name: z.string() }),
  plan: planSchema.describe('The plan in force; a trial that has ended is `starter`'),
  trial_ends_at: z.iso.datetime().nullable(),
  key: z.strictObject({ id: z.string(), name: z.string() }),
  scopes: z.array(scopeSchema),
  limits: z.strictObject({
    rate_limit: z.int().describe('Requests per 60 seconds of this key'),
    webhook_endpoints: z.int().nullable().describe('null: no limit'),
    webhook_rate_limit_per_minute: z.int().describe('The most that an endpoint can be set to'),
    custom_payload_formats: z.boolean(),
    source_ip_list: z.boolean(),
    icp_profiles: z.int(),
  }),
  usage: z.strictObject({ webhook_endpoints: z.int(), icp_profiles: z.int() }),
});

/** `GET /v1/me`: who the key is, and what it may do. */
export function addMe(app: FastifyInstance, { store, clock }: Pick<ApiParts, 'store' | 'clock'>): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/me',
    {
      config: { scope: 'any' },
      schema: {
        operationId: 'getMe',
        summary: 'Tenant, plan, scopes, limits and usage of the key',
        tags: ['Account'],
        querystring: z.strictObject({}),
        response: { 200: z.strictObject({ data: meSchema }) },
      },
    },
    async (request) => {
      const { tenant, key } = callerOf(request);
      const [endpoints, profiles] = await Promise.all([
        store.listEndpoints(tenant.id),
        store.listProfiles(tenant.id),
      ]);
      const plan = effectivePlan(tenant, clock.now());
      const included = planLimits(plan);
      return {
        data: {
          tenant: { id: tenant.id, name: tenant.name },
          plan,
          trial_ends_at: tenant.trialEndsAt === null ? null : toIso(tenant.trialEndsAt),
          key: { id: key.id, name: key.name },
          scopes: key.scopes,
          limits: {
            rate_limit: key.rateLimit,
            webhook_endpoints: included.endpoints,
            webhook_rate_limit_per_minute: included.maxRatePerMinute,
            custom_payload_formats: included.customPayload,
            source_ip_list: included.sourceIps,
            icp_profiles: MAX_PROFILES,
          },
          usage: { webhook_endpoints: endpoints.length, icp_profiles: profiles.length },
        },
      };
    },
  );
}
