import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { callerOf } from '../http/auth.ts';
import { toIso } from '../lib/clock.ts';
import { scopeSchema } from '../model/key.ts';
import { planSchema } from '../model/tenant.ts';
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
  }),
  usage: z.strictObject({ webhook_endpoints: z.int() }),
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
      const endpoints = await store.listEndpoints(tenant.id);
      const plan = effectivePlan(tenant, clock.now());
      return {
        data: {
          tenant: { id: tenant.id, name: tenant.name },
          plan,
          trial_ends_at: tenant.trialEndsAt === null ? null : toIso(tenant.trialEndsAt),
          key: { id: key.id, name: key.name },
          scopes: key.scopes,
          limits: { rate_limit: key.rateLimit, webhook_endpoints: planLimits(plan).endpoints },
          usage: { webhook_endpoints: endpoints.length },
        },
      };
    },
  );
}
