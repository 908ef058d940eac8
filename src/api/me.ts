import { z } from 'zod';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { toIso } from '../lib/clock.ts';
import { scopeSchema } from '../model/key.ts';
import { planSchema } from '../model/tenant.ts';
import { MODEL } from '../signals/model/learnt.ts';
import { MODEL_VERSION } from '../signals/score.ts';
import type { RoutesOf } from './routes.ts';

/** The largest number that a plan includes. */
const MOST_SOURCES = planLimits('enterprise').sources;

const meSchema = z.strictObject({
  tenant: z.strictObject({ id: z.string(), name: z.string() }),
  plan: planSchema.describe('The plan in force; a trial that has ended is `starter`'),
  trial_ends_at: z.iso.datetime().nullable(),
  key: z.strictObject({ id: z.string(), name: z.string() }),
  scopes: z.array(scopeSchema),
  limits: z.strictObject({
    rate_limit: z.int().describe('Requests per 60 seconds of this key'),
    requests_per_minute: z
      .int()
      .describe('Requests per 60 seconds of all keys together; a batch counts one for every 10 items begun'),
    keys: z.int().describe('API keys that are not revoked'),
    webhook_endpoints: z.int().nullable().describe('null: no limit'),
    webhook_rate_limit_per_minute: z.int().describe('The most that an endpoint can be set to'),
    custom_payload_formats: z.boolean(),
    source_ip_list: z.boolean(),
    payload_format_bytes: z.int().describe('Of a payload format as JSON; 0: none'),
    icp_profiles: z.int(),
    icp_phrases: z.int().describe('Phrases of all profiles together'),
    sources: z.int(),
    signals: z.int().describe('Signals that are kept'),
    leads: z.int().describe('Leads that are kept'),
    campaign_events: z.int().describe('Campaign events that are kept'),
  }),
  usage: z.strictObject({
    keys: z.int(),
    webhook_endpoints: z.int(),
    icp_profiles: z.int(),
    sources: z.int(),
    signals: z.int(),
    leads: z.int().describe('Leads that there are'),
    campaign_events: z.int().describe('Campaign events that there are'),
  }),
  scoring: z
    .strictObject({
      version: z.string().describe('Of the model; a signal names the one it was scored with'),
      calibrated_on: z.iso
        .date()
        .describe('The day on which its scores were last checked against posts that it had not learnt from'),
      encoder: z.enum(['on', 'off']).describe('Whether the sentence encoder helps; off: words alone decide'),
    })
    .describe('How signals are scored here'),
});

/** `GET /v1/me`: who the key is, and what it may do. */
export function addMe(routesOf: RoutesOf): void {
  routesOf('Account').get('/me', {
    operationId: 'getMe',
    summary: 'Tenant, plan, scopes, limits and usage of the key',
    scope: 'any',
    answer: meSchema,
    async handle({ parts: { store, clock, encoder }, caller: { tenant, key } }) {
      const plan = effectivePlan(tenant, clock.now());
      const included = planLimits(plan);
      const [keys, endpoints, profiles, sources, stored] = await Promise.all([
        store.listKeys(tenant.id),
        store.listEndpoints(tenant.id),
        store.listProfiles(tenant.id),
        store.pageSources(tenant.id, { limit: MOST_SOURCES, after: null }),
        store.countStored(tenant.id),
      ]);
      return {
        tenant: { id: tenant.id, name: tenant.name },
        plan,
        trial_ends_at: tenant.trialEndsAt === null ? null : toIso(tenant.trialEndsAt),
        key: { id: key.id, name: key.name },
        scopes: key.scopes,
        limits: {
          rate_limit: key.rateLimit,
          requests_per_minute: included.requestsPerMinute,
          keys: included.keys,
          webhook_endpoints: included.endpoints,
          webhook_rate_limit_per_minute: included.maxRatePerMinute,
          custom_payload_formats: included.payloadFormatBytes > 0,
          source_ip_list: included.sourceIps,
          payload_format_bytes: included.payloadFormatBytes,
          icp_profiles: included.profiles,
          icp_phrases: included.profilePhrases,
          sources: included.sources,
          signals: included.signals,
          leads: included.leads,
          campaign_events: included.campaignEvents,
        },
        usage: {
          keys: keys.filter((other) => other.revokedAt === null).length,
          webhook_endpoints: endpoints.length,
          icp_profiles: profiles.length,
          sources: sources.rows.length,
          signals: stored.signals,
          leads: stored.leads,
          campaign_events: stored.campaignEvents,
        },
        scoring: {
          version: MODEL_VERSION,
          calibrated_on: MODEL.calibratedOn,
          encoder: encoder ? ('on' as const) : ('off' as const),
        },
      };
    },
  });
}
