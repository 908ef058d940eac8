import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { webhookResourceSchema } from '../../src/model/webhook.ts';
import { buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
beforeEach(async () => {
  t = await buildWebhookApp();
});
afterEach(() => t.app.close());

const NTFY_TOPIC_ADDRESS = 'http://127.0.0.1:9/sales';
const EVERYTHING = {
  url: 'http://127.0.0.1:8080/other?x=1',
  label: 'CRM',
  event_types: ['signal.new_hot', 'deal.changed'],
  signal_types: ['review'],
  classifications: ['hot'],
  min_score: 40,
  max_retries: 10,
  retry_interval_seconds: 600,
  backoff: 'fixed',
  timeout_seconds: 5,
  dead_letter: false,
  payload_format: { include: ['signal_id'], flatten: true, custom: { source: 'signalpost' } },
  rate_limit_per_minute: 10,
  auto_resume: false,
};

test('every setting is stored as given and has its documented default', async () => {
  const { secret: _, ...plain } = await t.addWebhook();
  expect(webhookResourceSchema.parse(plain)).toMatchObject({
    ...{ label: '', event_types: ['signal.detected'], signal_types: [], classifications: [] },
    ...{ icp_profile_ids: [], min_score: 0, max_retries: 3, retry_interval_seconds: null },
    ...{ backoff: 'exponential', timeout_seconds: 30, dead_letter: true, payload_format: null },
    ...{ rate_limit_per_minute: 60, auto_resume: true, status: 'active', paused_reason: null },
    ...{ paused_at: null, consecutive_failures: 0 },
  });
  const given = await t.addWebhook(EVERYTHING);
  expect(given).toMatchObject(EVERYTHING);
  expect((await t.call('GET', `/v1/webhooks/${given.id}`)).json().data).toMatchObject(EVERYTHING);
});

test.each<[string, object]>([
  ['max_retries', { max_retries: 0 }],
  ['max_retries', { max_retries: 11 }],
  ['retry_interval_seconds', { retry_interval_seconds: 29 }],
  ['retry_interval_seconds', { retry_interval_seconds: 601 }],
  ['backoff', { backoff: 'linear' }],
  ['timeout_seconds', { timeout_seconds: 0 }],
  ['timeout_seconds', { timeout_seconds: 31 }],
  ['min_score', { min_score: 101 }],
  ['rate_limit_per_minute', { rate_limit_per_minute: 0 }],
  ['auto_resume', { auto_resume: 'yes' }],
  ['dead_letter', { dead_letter: 1 }],
  ['label', { label: 'x'.repeat(201) }],
  ['payload_format', { payload_format: { include: [] } }],
])('%s out of bounds is rejected on create and update: %j', async (member, settings) => {
  const { id } = await t.addWebhook();
  const pointer = `/${member}`;
  const created = await t.call('POST', '/v1/webhooks', { url: TARGET, ...settings });
  const changed = await t.call('PATCH', `/v1/webhooks/${id}`, settings);
  for (const answer of [created, changed]) {
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer }] });
  }
});

describe('PATCH /v1/webhooks/{id}', () => {
  test('changes each given setting and keeps the others', async () => {
    const { id, secret: _, ...before } = await t.addWebhook();
    let expected: object = { id, ...before };
    for (const [name, value] of Object.entries(EVERYTHING)) {
      const answer = await t.call('PATCH', `/v1/webhooks/${id}`, { [name]: value });
      expect(answer.statusCode).toBe(200);
      expected = { ...expected, [name]: value };
      expect(answer.json()).toEqual({ data: expected });
    }
    expect((await t.call('GET', `/v1/webhooks/${id}`)).json()).toEqual({ data: expected });
  });

  test('accepts null for optional settings', async () => {
    const { id } = await t.addWebhook(EVERYTHING);
    const patch = { retry_interval_seconds: null, payload_format: null };
    const answer = await t.call('PATCH', `/v1/webhooks/${id}`, patch);
    expect(answer.json().data).toMatchObject(patch);
  });

  test('notifies the dispatcher and increments the version', async () => {
    const { id } = await t.addWebhook();
    await t.call('PATCH', `/v1/webhooks/${id}`, { label: 'x' });
    expect(t.changed).toEqual([id]);
    expect((await t.store.getEndpoint(t.tenant.id, id))?.version).toBe(2);
  });

  test('validates a new target', async () => {
    const { id } = await t.addWebhook();
    const answer = await t.call('PATCH', `/v1/webhooks/${id}`, { url: 'https://10.0.0.1/' });
    expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/url' }] });
    expect((await t.call('GET', `/v1/webhooks/${id}`)).json().data.url).toBe(TARGET);
  });

  test('rejects unknown profiles and members without changing anything', async () => {
    const { id } = await t.addWebhook();
    const profile = await t.call('PATCH', `/v1/webhooks/${id}`, {
      label: 'x',
      icp_profile_ids: ['icp_none'],
    });
    expect(profile.json()).toMatchObject({ status: 400, errors: [{ pointer: '/icp_profile_ids/0' }] });
    const member = await t.call('PATCH', `/v1/webhooks/${id}`, { label: 'x', status: 'paused' });
    expect(member.json()).toMatchObject({ status: 400, errors: [{ pointer: '/status' }] });
    expect((await t.call('GET', `/v1/webhooks/${id}`)).json().data.label).toBe('');
  });

  test('requires a larger plan for settings that exceed the plan', async () => {
    const { id } = await t.addWebhook();
    const answer = await t.call('PATCH', `/v1/webhooks/${id}`, { rate_limit_per_minute: 61 });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({ code: 'PLAN_REQUIRED', required_plan: 'enterprise' });
  });

  test('keeps a concurrent change', async () => {
    const { id } = await t.addWebhook();
    const [label, score, paused] = await Promise.all([
      t.call('PATCH', `/v1/webhooks/${id}`, { label: 'both' }),
      t.call('PATCH', `/v1/webhooks/${id}`, { min_score: 9 }),
      t.call('POST', `/v1/webhooks/${id}/pause`),
    ]);
    expect([label.statusCode, score.statusCode, paused.statusCode]).toEqual([200, 200, 200]);
    expect((await t.call('GET', `/v1/webhooks/${id}`)).json().data).toMatchObject({
      label: 'both',
      min_score: 9,
      status: 'paused',
    });
  });
});

describe('POST /v1/webhooks/{id}/secret', () => {
  test('returns a new secret once and notifies the dispatcher', async () => {
    const { id, secret } = await t.addWebhook();
    const answer = await t.call('POST', `/v1/webhooks/${id}/secret`);
    expect(answer.statusCode).toBe(200);
    const made = answer.json().data;
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(made.secret).not.toBe(secret);
    expect(made).toMatchObject({ id, secret_last4: made.secret.slice(-4) });
    expect(t.changed).toEqual([id]);
    const shown = await t.call('GET', `/v1/webhooks/${id}`);
    expect(shown.json().data.secret_last4).toBe(made.secret.slice(-4));
    expect(shown.body).not.toContain(made.secret);
  });

  test('keeps the settings', async () => {
    const { id } = await t.addWebhook(EVERYTHING);
    expect((await t.call('POST', `/v1/webhooks/${id}/secret`)).json().data).toMatchObject(EVERYTHING);
  });
});

describe('pause and resume', () => {
  test('a paused endpoint says so and holds its pending and new deliveries', async () => {
    const { id } = await t.addWebhook();
    await t.addDeliveries(1);
    const answer = await t.call('POST', `/v1/webhooks/${id}/pause`);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data).toMatchObject({
      id,
      status: 'paused',
      paused_reason: 'manual',
      paused_at: '2026-01-01T00:00:00.001Z',
    });
    expect(t.changed).toEqual([id]);
    await t.addDeliveries(1);
    const list = (await t.call('GET', '/v1/deliveries?status=held')).json();
    expect(list.data).toHaveLength(2);
    expect(list.data[0]).toMatchObject({ status: 'held', next_attempt_at: null });
  });

  test('resuming resets the failure count, makes all deliveries due, and wakes the dispatcher', async () => {
    const { id } = await t.addWebhook();
    const [first = '', second = ''] = await t.addDeliveries(2);
    await t.attempt(first, { status: 'retrying', at: t.clock.now() + 3_600_000 });
    await t.call('POST', `/v1/webhooks/${id}/pause`);
    t.clock.advance(1_000);
    t.nudged.length = 0;
    const answer = await t.call('POST', `/v1/webhooks/${id}/resume`);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data).toMatchObject({
      status: 'active',
      paused_reason: null,
      paused_at: null,
      consecutive_failures: 0,
    });
    expect(t.nudged).toEqual([{ endpointId: id, tenantId: t.tenant.id }]);
    const dueAt = async (delivery: string) =>
      (await t.store.getDelivery(t.tenant.id, delivery))?.nextAttemptAt ?? 0;
    expect(await dueAt(first)).toBe(t.clock.now());
    expect(await dueAt(second)).toBeLessThanOrEqual(t.clock.now());
  });

  test('both are idempotent', async () => {
    const { id } = await t.addWebhook();
    const twice = async (action: string) => {
      const answers = [];
      for (let i = 0; i < 2; i++) answers.push(await t.call('POST', `/v1/webhooks/${id}/${action}`));
      return answers.map((answer) => [answer.statusCode, answer.json().data.status]);
    };
    expect(await twice('pause')).toEqual([
      [200, 'paused'],
      [200, 'paused'],
    ]);
    expect(await twice('resume')).toEqual([
      [200, 'active'],
      [200, 'active'],
    ]);
  });

  test("resuming an endpoint over the plan's limit requires a larger plan", async () => {
    await t.app.close();
    t = await buildWebhookApp({ plan: 'starter' });
    const { id } = await t.addWebhook();
    await t.call('POST', `/v1/webhooks/${id}/pause`);
    const extra = await t.store.getEndpoint(t.tenant.id, id);
    if (extra === null) throw new Error('the endpoint is there');
    await t.store.createEndpoint({ ...extra, id: 'whk_extra', status: 'active', pausedReason: null }, null);
    const answer = await t.call('POST', `/v1/webhooks/${id}/resume`);
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({ code: 'PLAN_REQUIRED', required_plan: 'pro' });
    expect((await t.call('GET', `/v1/webhooks/${id}`)).json().data.status).toBe('paused');
  });
});

test('pending deliveries of a deleted endpoint are discarded, and the dispatcher is notified', async () => {
  const { id } = await t.addWebhook();
  const [delivery] = await t.addDeliveries(1);
  await t.call('DELETE', `/v1/webhooks/${id}`);
  expect(t.changed).toEqual([id]);
  expect((await t.call('GET', `/v1/deliveries/${delivery}`)).json().data.status).toBe('discarded');
  expect((await t.call('GET', `/v1/webhooks/${id}/deliveries`)).statusCode).toBe(404);
});

test("a preset turns every event into a message for its service, by the endpoint's filters", async () => {
  const { id } = await t.addWebhook({
    event_types: ['signal.detected', 'signal.new_hot', 'pipeline.stage_changed', 'campaign.status_changed'],
    payload_format: { preset: 'discord' },
    classifications: ['hot'],
  });
  const shown = (await t.call('GET', `/v1/webhooks/${id}`)).json().data;
  expect(shown.payload_format).toEqual({ preset: 'discord' });
  await t.call('POST', '/v1/campaigns', { name: 'Spring', status: 'active' });
  await t.addDeliveries(1);
  const { data } = (await t.call('GET', `/v1/webhooks/${id}/deliveries`)).json();
  expect(data.length).toBeGreaterThan(0);
  for (const { id: delivery } of data) {
    const { body } = (await t.call('GET', `/v1/deliveries/${delivery}`)).json().data;
    expect(JSON.parse(body)).toMatchObject({ embeds: [{ title: expect.any(String) }] });
  }
});

test('ntfy is called at the URL of its server, not at that of the topic', async () => {
  const payload_format = { preset: 'ntfy', topic: 'sales' };
  const wrong = await t.call('POST', '/v1/webhooks', { url: NTFY_TOPIC_ADDRESS, payload_format });
  expect(wrong.json()).toMatchObject({ status: 400, errors: [{ pointer: '/url' }] });
  const { id } = await t.addWebhook({ payload_format });
  const moved = await t.call('PATCH', `/v1/webhooks/${id}`, { url: NTFY_TOPIC_ADDRESS });
  expect(moved.statusCode).toBe(400);
});
