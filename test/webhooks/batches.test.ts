import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFeedbackLinks } from '../../src/accounts/links.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import type { Store } from '../../src/store/store.ts';
import { sendBatches } from '../../src/webhooks/digests.ts';
import { aPost } from '../support/app.ts';
import { openTestStore } from '../support/store.ts';
import { workForATurn } from '../support/turn.ts';
import { anotherPost, buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const baseUrl = 'https://signals.example.com';
const SLACK = { payload_format: { preset: 'slack' } };

let t: WebhookApp;
let ids = 0;
beforeEach(async () => {
  t = await buildWebhookApp(); // at midnight, UTC
});
afterEach(() => t.app.close());

const send = () => {
  const { store, clock } = t;
  const newId = (prefix: string) => `${prefix}_batch${ids++}`;
  const feedbackLinks = createFeedbackLinks(createCursors(Buffer.alloc(32, 7)), baseUrl);
  return sendBatches({ store, clock, baseUrl, newId, feedbackLinks });
};

test('the endpoints of a tenant are not all read again for each that has signals waiting', async () => {
  for (let i = 0; i < 3; i++) await t.addWebhook({ ...SLACK, batching: 'hourly' });
  await t.call('POST', '/v1/signals', aPost());
  t.clock.advance(61 * MINUTE_MS);
  const { listReceivers } = t.store;
  let lists = 0;
  t.store.listReceivers = (tenantId) => {
    lists++;
    return listReceivers(tenantId);
  };
  await send();
  expect(lists).toBe(0);
  expect(await bodies()).toHaveLength(3);
});

test('an endpoint with many single messages gives way to the others', async () => {
  const first = await t.addWebhook({ ...SLACK, batching: 'hourly' });
  const second = await t.addWebhook({ ...SLACK, batching: 'hourly' });
  for (let i = 0; i < 30; i++) await t.call('POST', '/v1/signals', anotherPost(i));
  await t.call('PATCH', `/v1/webhooks/${first.id}`, { batching: 'instant', payload_format: null });
  t.clock.advance(61 * MINUTE_MS);
  const { commitBatch } = t.store;
  const order: string[] = [];
  t.store.commitBatch = (batch) => {
    order.push(batch.endpointId);
    return commitBatch(batch);
  };
  await send();
  expect(order.filter((id) => id === first.id).length).toBeGreaterThanOrEqual(30);
  expect(order.indexOf(second.id)).toBeLessThanOrEqual(20);
});

test('the signals of a message are described in turns of the event loop', async () => {
  await t.addWebhook({ ...SLACK, batching: 'hourly' });
  for (let i = 0; i < 8; i++) await t.call('POST', '/v1/signals', anotherPost(i));
  t.clock.advance(61 * MINUTE_MS);
  const { getSignal } = t.store;
  const turns: number[] = [];
  t.store.getSignal = (tenantId, id) => {
    turns.push(workForATurn());
    return getSignal(tenantId, id);
  };
  await send();
  expect(turns.length).toBeGreaterThanOrEqual(8);
  expect(new Set(turns).size).toBe(turns.length);
});

const bodies = async () => {
  const { data } = (await t.call('GET', '/v1/deliveries')).json();
  const logs = data.map(async ({ id }: { id: string }) =>
    (await t.call('GET', `/v1/deliveries/${id}`)).json(),
  );
  return (await Promise.all(logs)).map((log) => log.data.body as string);
};
const outcomes = async () => (await t.call('GET', '/v1/events?type=signal.detected')).json().data;

describe('signals of an endpoint with hourly batching', () => {
  test('wait, and are sent once, in one message, at the end of the hour', async () => {
    const { id } = await t.addWebhook({ ...SLACK, batching: 'hourly' });
    t.clock.advance(30 * MINUTE_MS);
    for (let i = 0; i < 25; i++) await t.call('POST', '/v1/signals', anotherPost(i));
    await send();
    expect(await bodies()).toEqual([]);
    expect((await outcomes())[0].deliveries).toEqual([
      { endpoint_id: id, delivery_id: null, status: 'pending', reason: 'batch_due' },
    ]);
    t.nudged.length = 0;
    t.clock.advance(31 * MINUTE_MS);
    await send();
    await send();
    const [body = '', ...others] = await bodies();
    expect(others).toEqual([]);
    expect(JSON.parse(body).text).toMatch(/^25 new signals: /);
    expect(body).toMatch(
      /and \d+ more · <https:\/\/signals\.example\.com\/dashboard\/signals\?state=all&amp;from=2026-01-01T00/,
    );
    expect(body.match(/\*Looking for a new CRM[^*]*\*/g)?.length).toBeGreaterThan(8);
    expect(body.match(/\/feedback\/[\w-]+\|👍 Relevant>/g)?.length).toBeGreaterThan(8);
    expect(t.nudged).toEqual([{ endpointId: id, tenantId: t.tenant.id }]);
    const told = (await outcomes()).map(
      (event: { deliveries: { delivery_id: string; status: string }[] }) => [
        event.deliveries.map(({ delivery_id, status }) => `${delivery_id} ${status}`),
      ],
    );
    expect(new Set(told.flat(2))).toEqual(new Set([expect.stringMatching(/^dlv_\w+ pending$/)]));
  });

  test('appear once even if hot ones cause two events, and look like instant ones if single', async () => {
    await t.addWebhook({ ...SLACK, batching: 'hourly', event_types: ['signal.detected', 'signal.new_hot'] });
    await t.call('POST', '/v1/signals', aPost());
    t.clock.advance(61 * MINUTE_MS);
    await send();
    const [body = '', ...others] = await bodies();
    expect(others).toEqual([]);
    expect(JSON.parse(body).text).toMatch(/^Hot signal/);
  });

  test('are subject to its filters, while other events are sent immediately', async () => {
    await t.addWebhook({
      ...SLACK,
      batching: 'hourly',
      min_score: 100,
      event_types: ['signal.detected', 'lead.enriched'],
    });
    await t.call('POST', '/v1/signals', aPost());
    await t.call('POST', '/v1/leads', { email: 'dana@example.com' });
    expect(await bodies()).toHaveLength(1);
    t.clock.advance(2 * HOUR_MS);
    await send();
    expect(await bodies()).toHaveLength(1);
  });

  test('are sent immediately, in the new format, when batching is turned off', async () => {
    const { id } = await t.addWebhook({ ...SLACK, batching: 'hourly' });
    for (let i = 0; i < 2; i++) await t.call('POST', '/v1/signals', anotherPost(i));
    await t.call('PATCH', `/v1/webhooks/${id}`, { batching: 'instant', payload_format: null });
    await send();
    expect((await bodies()).map((body) => Object.keys(JSON.parse(body))[0])).toEqual([
      'signal_id',
      'signal_id',
    ]);
  });

  test('are deleted with the endpoint', async () => {
    const { id } = await t.addWebhook({ ...SLACK, batching: 'hourly' });
    await t.call('POST', '/v1/signals', aPost());
    await t.call('DELETE', `/v1/webhooks/${id}`);
    t.clock.advance(2 * HOUR_MS);
    await send();
    expect(await t.store.listWaitingBatches('', 100)).toEqual([]);
    expect(await bodies()).toEqual([]);
  });
});

test('a day ends at the hour and in the time zone of the settings', async () => {
  await t.call('PATCH', '/v1/settings', { timezone: 'Asia/Tokyo', digest: { hour: 12 } }); // 03:00 UTC
  await t.addWebhook({ ...SLACK, batching: 'daily' });
  await t.call('POST', '/v1/signals', aPost());
  t.clock.advance(3 * HOUR_MS - 1);
  await send();
  expect(await bodies()).toEqual([]);
  t.clock.advance(MINUTE_MS);
  await send();
  expect(await bodies()).toHaveLength(1);
});

test('batching without a preset is rejected, and so is removing the preset', async () => {
  const refused = (settings: object) =>
    t.call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', ...settings });
  for (const settings of [{ batching: 'daily' }, { batching: 'hourly', payload_format: { flatten: true } }]) {
    const answer = await refused(settings);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors).toMatchObject([
      { pointer: '/batching', detail: expect.stringContaining('preset') },
    ]);
  }
  const { id, batching } = await t.addWebhook({ ...SLACK, batching: 'daily' });
  expect(batching).toBe('daily');
  expect((await t.call('PATCH', `/v1/webhooks/${id}`, { payload_format: null })).statusCode).toBe(400);
});

test('an erased person is omitted from unsent messages, and others are not', async () => {
  const { id: endpoint } = await t.addWebhook({ ...SLACK, batching: 'hourly' });
  await t.call('POST', `/v1/webhooks/${endpoint}/pause`);
  const text =
    'We are looking for a new CRM for the Whitlock works, any recommendations? Need to buy this month.';
  const person = { email: 'dana@example.com', name: 'Dana Whitlock' };
  await t.call('POST', '/v1/signals', aPost({ text, prospect: person }));
  await t.call('POST', '/v1/signals', anotherPost(2));
  const { id } = (await t.call('POST', '/v1/leads', { email: person.email })).json().data;
  t.clock.advance(61 * MINUTE_MS);
  await send();
  expect((await bodies()).join()).toContain('Whitlock works');
  expect((await t.call('DELETE', `/v1/leads/${id}`)).statusCode).toBe(204);
  expect((await bodies()).join()).not.toContain('Whitlock');
  await send();
  const sent = (await bodies()).filter((body) => body !== null).map((body) => JSON.parse(body).text);
  expect(sent).toEqual([expect.stringMatching(/^Hot signal|^Warm signal/)]);
});

test('endpoints with waiting events are looked at in parts, each once', async () => {
  const { store, clock } = await openTestStore();
  const waiting = Array.from({ length: 1_200 }, (_, n) => `whk_${String(n).padStart(4, '0')}`);
  const dropped: string[] = [];
  let most = 0;
  const parts: Store = {
    ...store,
    async listWaitingBatches(after, limit) {
      const part = waiting.filter((id) => id > after).slice(0, limit);
      most = Math.max(most, part.length);
      return part.map((endpointId) => ({ endpointId, tenantId: 'ten_a', since: 0 }));
    },
    async dropBatched(endpointId) {
      dropped.push(endpointId);
      return 1;
    },
  };
  await sendBatches({
    store: parts,
    clock,
    newId: (prefix) => prefix,
    baseUrl: 'https://signalpost.example',
  });
  expect(dropped).toEqual(waiting); // none of them exists any longer
  expect(most).toBe(500);
});
