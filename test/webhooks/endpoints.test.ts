import { beforeEach, expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { Tenant } from '../../src/model/tenant.ts';
import { webhookInputSchema, webhookResourceSchema } from '../../src/model/webhook.ts';
import { createEndpoint, type EndpointDeps, endpointResource } from '../../src/webhooks/endpoints.ts';
import { aTenant, openTestStore, T0 } from '../support/store.ts';

let deps: EndpointDeps;
let tenant: Tenant;

beforeEach(async () => {
  const { store, clock } = await openTestStore();
  const fixture = aTenant('ten_a');
  await store.createTenant(fixture);
  tenant = fixture.tenant;
  deps = {
    store,
    clock,
    random: systemRandom,
    newId: createIds(clock, systemRandom),
    secretBox: createSecretBox(Buffer.alloc(32, 3), systemRandom),
    allowTargets: createAddressSet([parseCidr('127.0.0.0/8') ?? expect.fail()]),
    lookup: async () => [],
  };
});

const create = (input: object = {}, as: Tenant = tenant) =>
  createEndpoint(deps, as, webhookInputSchema.parse({ url: 'http://127.0.0.1:9/hook', ...input }));

test('a new endpoint has a secret that is stored only in its own box', async () => {
  const { endpoint, secret } = await create();
  expect(secret).toMatch(/^whsec_/);
  expect(Buffer.from(endpoint.secretBox).toString('latin1')).not.toContain(secret);
  expect(deps.secretBox.open(endpoint.secretBox, endpoint.id)).toBe(secret);
});

test('its resource has every documented member, and no secret', async () => {
  const { endpoint, secret } = await create();
  const resource = webhookResourceSchema.parse(endpointResource(endpoint));
  expect(JSON.stringify(resource)).not.toContain(secret);
  expect(resource).toMatchObject({
    max_retries: 3,
    timeout_seconds: 30,
    status: 'active',
    secret_last4: secret.slice(-4),
  });
});

test.each([
  'http://10.0.0.1/',
  'https://[::1]/',
  'https://user:pw@example.com/',
  'ftp://example.com/',
  'nonsense',
])('rejects the target %s with a pointer to the URL', async (url) => {
  await expect(create({ url })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    extra: { errors: [{ pointer: '/url' }] },
  });
});

test('rejects a profile of another tenant with a pointer to it', async () => {
  await expect(create({ icp_profile_ids: ['icp_ten_a', 'icp_other'] })).rejects.toMatchObject({
    extra: { errors: [{ pointer: '/icp_profile_ids/1' }] },
  });
});

test.each([
  ['starter', 1, 'pro'],
  ['pro', 10, 'enterprise'],
] as const)('the %s plan allows %i endpoints and suggests %s for more', async (plan, limit, next) => {
  const as = { ...tenant, plan };
  for (let i = 0; i < limit; i++) await create({}, as);
  await expect(create({}, as)).rejects.toMatchObject({
    code: 'PLAN_REQUIRED',
    extra: { members: { required_plan: next } },
  });
});

test('a trial is on the Pro plan until it ends, and then on the Starter plan', async () => {
  const running = { ...tenant, plan: 'trial', trialEndsAt: T0 + 1 } as const;
  await create({}, running);
  await create({}, running);
  await expect(create({}, { ...running, trialEndsAt: T0 })).rejects.toMatchObject({ code: 'PLAN_REQUIRED' });
});

test('more than 60 requests per minute require the enterprise plan', async () => {
  await expect(create({ rate_limit_per_minute: 61 })).rejects.toMatchObject({ code: 'PLAN_REQUIRED' });
  const { endpoint } = await create({ rate_limit_per_minute: 1_000_000 }, { ...tenant, plan: 'enterprise' });
  expect(endpoint.settings.rate_limit_per_minute).toBe(1_000_000);
});
