import { z } from 'zod';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { changeSettings, readSettings } from '../accounts/settings.ts';
import { toIso } from '../lib/clock.ts';
import { scopeSchema } from '../model/key.ts';
import { planSchema, settingsPatchSchema, settingsSchema } from '../model/tenant.ts';
import { MODEL } from '../signals/judge.ts';
import { MODEL_VERSION } from '../signals/score.ts';
import type { RoutesOf } from './routes.ts';

const account = (description: string) =>
  z
    .strictObject({
      id: z.string().describe('Unique identifier.'),
      name: z.string().describe('Name.'),
    })
    .describe(description);

const meSchema = z.strictObject({
  tenant: account('The account that the key belongs to.'),
  plan: planSchema.describe('Current plan. A trial that has ended is `starter`.'),
  trial_ends_at: z.iso
    .datetime()
    .nullable()
    .describe('When the trial ends or ended; `null` if there is none.'),
  key: account('The API key of this request.'),
  scopes: z.array(scopeSchema).describe('Permissions of the key. `:write` includes `:read`.'),
  limits: z
    .strictObject({
      rate_limit: z.int().describe('Maximum number of requests per 60 seconds with this key.'),
      requests_per_minute: z
        .int()
        .describe(
          'Maximum number of requests per 60 seconds with all keys together. A batch counts as one request per 10 items or part of them.',
        ),
      keys: z.int().describe('Maximum number of API keys that are not revoked.'),
      webhook_endpoints: z.int().nullable().describe('Maximum number of endpoints; `null` for no limit.'),
      webhook_rate_limit_per_minute: z.int().describe('Maximum `rate_limit_per_minute` of an endpoint.'),
      custom_payload_formats: z.boolean().describe('Whether endpoints can have a payload format.'),
      source_ip_list: z.boolean().describe('Whether the source IP addresses of deliveries are available.'),
      payload_format_bytes: z
        .int()
        .describe('Maximum size of a payload format as JSON, in bytes; 0 if there can be none.'),
      payload_formats_bytes: z
        .int()
        .describe('Maximum size of the payload formats of all webhook endpoints together.'),
      icp_profiles: z.int().describe('Maximum number of profiles.'),
      icp_phrases: z.int().describe('Maximum number of phrases in all profiles together.'),
      sources: z.int().describe('Maximum number of sources.'),
      signals: z.int().describe('Maximum number of stored signals.'),
      leads: z.int().describe('Maximum number of stored leads.'),
      campaign_events: z.int().describe('Maximum number of stored campaign events.'),
    })
    .describe('Limits of the plan and the key.'),
  usage: z
    .strictObject({
      keys: z.int().describe('Number of API keys that are not revoked.'),
      webhook_endpoints: z.int().describe('Number of endpoints.'),
      icp_profiles: z.int().describe('Number of profiles.'),
      sources: z.int().describe('Number of sources.'),
      signals: z.int().describe('Number of stored signals.'),
      leads: z.int().describe('Number of stored leads.'),
      campaign_events: z.int().describe('Number of stored campaign events.'),
    })
    .describe('Current usage.'),
  scoring: z
    .strictObject({
      version: z.string().describe('Version of the scoring model, as in `model_version` of an explanation.'),
      calibrated_on: z.iso
        .date()
        .describe('Date on which its scores were last calibrated with posts it was not trained on.'),
      encoder: z
        .enum(['on', 'off'])
        .describe('Whether the sentence encoder is used; `off`: posts are scored by their words only.'),
    })
    .describe('How this server scores signals.'),
});

/** `GET /v1/me`: the account and permissions of the key. */
export function addMe(routesOf: RoutesOf): void {
  routesOf('Account').get('/me', {
    operationId: 'getMe',
    summary: 'Get the current account',
    description: 'Returns the account, plan, scopes, limits and usage of the key.',
    scope: 'any',
    answer: meSchema,
    async handle({ deps: { store, clock, encoder }, caller: { tenant, key } }) {
      const plan = effectivePlan(tenant, clock.now());
      const included = planLimits(plan);
      const [keys, endpoints, profiles, sources, stored] = await Promise.all([
        store.listKeys(tenant.id),
        store.countEndpoints(tenant.id),
        store.countProfiles(tenant.id),
        store.countSources(tenant.id),
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
          payload_formats_bytes: included.payloadFormatsBytes,
          icp_profiles: included.profiles,
          icp_phrases: included.profilePhrases,
          sources: included.sources,
          signals: included.signals,
          leads: included.leads,
          campaign_events: included.campaignEvents,
        },
        usage: {
          keys: keys.filter((other) => other.revokedAt === null).length,
          webhook_endpoints: endpoints,
          icp_profiles: profiles,
          sources,
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

/** `/v1/settings`: time zone and digest of a tenant. */
export function addSettings(routesOf: RoutesOf): void {
  const account = routesOf('Account');
  account.get('/settings', {
    operationId: 'getSettings',
    summary: 'Get settings',
    scope: 'keys:read',
    answer: settingsSchema,
    handle: ({ deps, tenantId }) => readSettings(deps, tenantId),
  });
  account.patch('/settings', {
    operationId: 'updateSettings',
    summary: 'Update settings',
    description:
      'Omitted members stay as they are. If the hour of the digest is the current one, it is created immediately, unless there was one today.',
    scope: 'keys:write',
    body: settingsPatchSchema,
    answer: settingsSchema,
    handle: ({ deps, tenantId, body }) => changeSettings(deps, tenantId, body),
  });
}
