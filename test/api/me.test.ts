import { afterEach, beforeEach, expect, test } from 'vitest';
import { SCOPES } from '../../src/model/key.ts';
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

test('a key learns whose it is, what it may do, and what is used', async () => {
  expect(await me()).toEqual({
    tenant: { id: t.tenant.id, name: 'Acme' },
    plan: 'trial',
    trial_ends_at: '2026-01-15T00:00:00.000Z',
    key: { id: expect.stringMatching(/^key_/), name: 'First key' },
    scopes: [...SCOPES],
    limits: {
      rate_limit: 600,
      webhook_endpoints: 10,
      webhook_rate_limit_per_minute: 60,
      custom_payload_formats: true,
      source_ip_list: true,
      icp_profiles: 100,
    },
    usage: { webhook_endpoints: 0, icp_profiles: 1 },
  });
});

test('usage counts what there is', async () => {
  const post = (url: string, payload: object) =>
    t.app.inject({ method: 'POST', url, headers: t.auth, payload });
  await post('/v1/icps', { name: 'Second' });
  await post('/v1/webhooks', { url: 'http://127.0.0.1:9/' });
  expect((await me()).usage).toEqual({ webhook_endpoints: 1, icp_profiles: 2 });
});

test('after its trial a tenant is on starter, and is told so', async () => {
  t.clock.advance(14 * DAY_MS);
  expect(await me()).toMatchObject({
    plan: 'starter',
    trial_ends_at: '2026-01-15T00:00:00.000Z',
    limits: { webhook_endpoints: 1, custom_payload_formats: false, source_ip_list: false },
  });
});

test('a key without any scope may ask; its own limit and scopes are told', async () => {
  const { auth } = await t.addKey({ scopes: ['leads:read'], rateLimit: 7 });
  expect(await me(auth)).toMatchObject({ scopes: ['leads:read'], limits: { rate_limit: 7 } });
});

test('enterprise has no limit of endpoints', async () => {
  const { auth } = await t.addTenant('enterprise');
  expect((await me(auth)).limits).toMatchObject({
    webhook_endpoints: null,
    webhook_rate_limit_per_minute: 1_000_000,
  });
});
