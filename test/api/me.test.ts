import { afterEach, beforeEach, expect, test } from 'vitest';
import { SCOPES } from '../../src/model/key.ts';
import { MODEL_VERSION } from '../../src/signals/score.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

const DAY_MS = 24 * 3_600_000;

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ plan: 'trial', env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

async function me(headers: Record<string, string> = t.auth) {
  return (await t.app.inject({ url: '/v1/me', headers })).json().data;
}

test('returns the tenant of a key, its permissions and its usage', async () => {
  expect(await me()).toEqual({
    tenant: { id: t.tenant.id, name: 'Acme' },
    plan: 'trial',
    trial_ends_at: '2026-01-15T00:00:00.000Z',
    key: { id: expect.stringMatching(/^key_/), name: 'First key' },
    scopes: [...SCOPES],
    limits: {
      rate_limit: 600,
      requests_per_minute: 3_000,
      keys: 100,
      webhook_endpoints: 10,
      webhook_rate_limit_per_minute: 60,
      custom_payload_formats: true,
      source_ip_list: true,
      payload_format_bytes: 16_384,
      payload_formats_bytes: 163_840,
      icp_profiles: 100,
      icp_phrases: 5_000,
      sources: 100,
      signals: 2_000_000,
      leads: 500_000,
      campaign_events: 10_000_000,
    },
    usage: {
      keys: 1,
      webhook_endpoints: 0,
      icp_profiles: 1,
      sources: 0,
      signals: 0,
      leads: 0,
      campaign_events: 0,
    },
    scoring: { version: MODEL_VERSION, calibrated_on: '2026-11-27', encoder: 'off' },
  });
});

test('usage counts existing resources', async () => {
  const post = (url: string, payload: object) =>
    t.app.inject({ method: 'POST', url, headers: t.auth, payload });
  await post('/v1/icps', { name: 'Second' });
  await post('/v1/webhooks', { url: 'http://127.0.0.1:9/' });
  await post('/v1/sources', { kind: 'hackernews', name: 'HN', query: 'crm' });
  const { id } = (await post('/v1/keys', { name: 'Reader', preset: 'read' })).json().data;
  await post('/v1/keys', { name: 'Writer', preset: 'write' });
  await t.app.inject({ method: 'DELETE', url: `/v1/keys/${id}`, headers: t.auth });
  expect((await me()).usage).toMatchObject({ keys: 2, webhook_endpoints: 1, icp_profiles: 2, sources: 1 });
});

test('after its trial a tenant is on starter, and the response says so', async () => {
  t.clock.advance(14 * DAY_MS);
  expect(await me()).toMatchObject({
    plan: 'starter',
    trial_ends_at: '2026-01-15T00:00:00.000Z',
    limits: { webhook_endpoints: 1, custom_payload_formats: false, source_ip_list: false },
  });
});

test('a key needs no particular scope, and sees its own limit and scopes', async () => {
  const { auth } = await t.addKey({ scopes: ['leads:read'], rateLimit: 7 });
  expect(await me(auth)).toMatchObject({ scopes: ['leads:read'], limits: { rate_limit: 7 } });
});

test.each([
  ['starter', [600, 20, 1, 60, 0, 10, 500, 10]],
  ['pro', [3_000, 100, 10, 60, 16_384, 100, 5_000, 100]],
  ['enterprise', [60_000, 1_000, null, 1_000_000, 458_752, 1_000, 50_000, 1_000]],
] as const)('%s returns its limits', async (plan, ceilings) => {
  const { auth } = await t.addTenant(plan);
  const { limits } = await me(auth);
  expect([
    limits.requests_per_minute,
    limits.keys,
    limits.webhook_endpoints,
    limits.webhook_rate_limit_per_minute,
    limits.payload_format_bytes,
    limits.icp_profiles,
    limits.icp_phrases,
    limits.sources,
  ]).toEqual(ceilings);
});
