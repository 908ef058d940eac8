import { afterEach, expect, test } from 'vitest';
import { changePlan, endTrials } from '../../src/accounts/tenants.ts';
import type { Plan } from '../../src/model/tenant.ts';
import { anEndpoint } from '../support/store.ts';
import { buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
afterEach(() => t.app.close());

const open = async (plan: Plan) => {
  t = await buildWebhookApp({ plan, env: { WEBHOOK_SOURCE_IPS: '203.0.113.0/28' } });
};
const FORMAT = { include: ['signal_id'] };

test.each(['trial', 'pro', 'enterprise'] as const)(
  '%s includes payload formats and the list of source addresses',
  async (plan) => {
    await open(plan);
    expect((await t.addWebhook({ payload_format: FORMAT })).payload_format).toMatchObject(FORMAT);
    expect((await t.call('POST', '/v1/webhooks/preview', { payload_format: FORMAT })).statusCode).toBe(200);
    expect((await t.call('GET', '/v1/webhooks/source-ips')).statusCode).toBe(200);
  },
);

test('starter has only the standard payload and no list of source addresses', async () => {
  await open('starter');
  const { id } = await t.addWebhook();
  const refused = [
    await t.call('POST', '/v1/webhooks', { url: TARGET, payload_format: FORMAT }),
    await t.call('PATCH', `/v1/webhooks/${id}`, { payload_format: FORMAT }),
    await t.call('POST', '/v1/webhooks/preview', { payload_format: FORMAT }),
    await t.call('GET', '/v1/webhooks/source-ips'),
  ];
  for (const answer of refused) {
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({ code: 'PLAN_REQUIRED', required_plan: 'pro' });
  }
  expect((await t.call('POST', '/v1/webhooks/preview', {})).statusCode).toBe(200);
});

test('even enterprise has at most ten thousand endpoints', async () => {
  await open('enterprise');
  for (let n = 1; n < 10_000; n++) {
    await t.store.createEndpoint(anEndpoint(t.tenant.id, { id: `whk_${n}` }), null);
  }
  await t.addWebhook();
  const refused = await t.call('POST', '/v1/webhooks', { url: TARGET });
  expect(refused.statusCode).toBe(403);
  expect(refused.json()).toMatchObject({
    code: 'PLAN_REQUIRED',
    detail: 'An account has at most 10000 webhook endpoints.',
    hint: 'Remove what you no longer need.',
    limit: 10_000,
  });
});

test('after a downgrade the standard payload is sent, and other settings can still change', async () => {
  await open('pro');
  const { id } = await t.addWebhook({ payload_format: FORMAT });
  const bodyOf = async (delivery: string | undefined) =>
    JSON.parse((await t.store.getDelivery(t.tenant.id, delivery ?? ''))?.body ?? '{}');
  const [before] = await t.addDeliveries(1);
  await changePlan(t, t.tenant.id, 'starter');
  const [, after] = await t.addDeliveries(1);
  expect(Object.keys(await bodyOf(before))).toEqual(['signal_id']);
  expect(Object.keys(await bodyOf(after))).toHaveLength(11);
  const changed = await t.call('PATCH', `/v1/webhooks/${id}`, { label: 'still mine' });
  expect(changed.json().data).toMatchObject({ label: 'still mine', payload_format: FORMAT });
});

test('the standard payload is sent as soon as a trial ends', async () => {
  await open('trial');
  await t.addWebhook({ payload_format: FORMAT });
  t.clock.advance(14 * 86_400_000);
  const [delivery = ''] = await t.addDeliveries(1);
  const body = (await t.store.getDelivery(t.tenant.id, delivery))?.body ?? '';
  expect(Object.keys(JSON.parse(body))).toHaveLength(11);
});

test('when a trial ends, excess endpoints are paused, their deliveries held, and nothing is deleted', async () => {
  await open('trial');
  const first = await t.addWebhook();
  t.clock.advance(1);
  const second = await t.addWebhook();
  await t.addDeliveries(1);
  const endpoints = async () => (await t.call('GET', '/v1/webhooks')).json().data;
  await endTrials(t);
  expect(await endpoints()).toMatchObject([{ status: 'active' }, { status: 'active' }]);
  t.clock.advance(14 * 86_400_000);
  await endTrials(t);
  const ended = await endpoints();
  expect(ended).toMatchObject([
    { id: first.id, status: 'active' },
    { id: second.id, status: 'paused', paused_reason: 'plan' },
  ]);
  await endTrials(t);
  expect(await endpoints()).toEqual(ended);
  const held = (await t.call('GET', `/v1/webhooks/${second.id}/deliveries`)).json().data;
  expect(held).toMatchObject([{ status: 'held' }]);
  expect((await t.call('POST', `/v1/webhooks/${second.id}/resume`)).json().code).toBe('PLAN_REQUIRED');

  await changePlan(t, t.tenant.id, 'pro');
  expect((await t.call('GET', `/v1/webhooks/${second.id}`)).json().data.status).toBe('active');
});
