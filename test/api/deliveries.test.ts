import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changePlan } from '../../src/accounts/tenants.ts';
import { MAX_BODY_BYTES } from '../../src/model/delivery.ts';
import { deliveryDetailSchema, deliverySchema } from '../../src/model/delivery-resource.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
let webhookId: string;
beforeEach(async () => {
  t = await buildWebhookApp();
  webhookId = (await t.addWebhook()).id;
});
afterEach(() => t.app.close());

const idsOf = async (url: string) => {
  const answer = await t.call('GET', url);
  expect([answer.statusCode, url]).toEqual([200, url]);
  return answer.json().data.map((row: { id: string }) => row.id);
};

describe('the delivery log', () => {
  test('lists deliveries newest first, with all their members', async () => {
    const ids = await t.addDeliveries(3);
    const { data, pagination } = (await t.call('GET', '/v1/deliveries')).json();
    expect(data.map((row: { id: string }) => row.id)).toEqual([...ids].reverse());
    for (const row of data) expect(deliverySchema.parse(row)).toEqual(row);
    expect(pagination).toEqual({ next_cursor: null, has_more: false, limit: 25 });
    expect(data[0]).toMatchObject({
      webhook_id: webhookId,
      event: 'signal.detected',
      status: 'pending',
      attempt_count: 0,
      last_attempt: null,
      expires_at: null,
    });
  });

  test('shows how the last attempt ended', async () => {
    const [id = ''] = await t.addDeliveries(1);
    await t.attempt(id, { status: 'retrying', at: t.clock.now() + 1_000 });
    expect((await t.call('GET', '/v1/deliveries')).json().data[0]).toMatchObject({
      status: 'retrying',
      attempt_count: 1,
      next_attempt_at: '2026-01-01T00:00:01.001Z',
      last_attempt: { duration_ms: 12.5, response_status: 500, error_code: 'http_status' },
    });
  });

  test('is filtered by status, event, event id and time, alone and combined', async () => {
    const other = await t.addWebhook({ event_types: ['signal.new_hot'] });
    const ids = await t.addDeliveries(2);
    const events = new Map<string, string>(
      await Promise.all(
        ids.map(async (id) => {
          const { event, event_id } = (await t.call('GET', `/v1/deliveries/${id}`)).json().data;
          return [`${event} ${id}`, event_id] as const;
        }),
      ),
    );
    const of = (type: string) =>
      [...events.keys()].filter((key) => key.startsWith(type)).map((key) => key.split(' ')[1]);
    const detected = of('signal.detected');
    const hot = of('signal.new_hot');
    expect([detected.length, hot.length]).toEqual([2, 2]);
    await t.attempt(String(detected[0]), { status: 'delivered' });

    expect(await idsOf('/v1/deliveries?status=delivered')).toEqual([detected[0]]);
    expect((await idsOf('/v1/deliveries?status=pending')).sort()).toEqual([detected[1], ...hot].sort());
    expect((await idsOf('/v1/deliveries?event=signal.new_hot')).sort()).toEqual([...hot].sort());
    expect(await idsOf('/v1/deliveries?event=signal.detected&status=delivered')).toEqual([detected[0]]);
    expect(await idsOf('/v1/deliveries?event=deal.changed')).toEqual([]);
    const eventId = events.get(`signal.detected ${detected[1]}`);
    expect(await idsOf(`/v1/deliveries?event=${eventId}`)).toEqual([detected[1]]);
    expect((await idsOf(`/v1/webhooks/${other.id}/deliveries`)).sort()).toEqual([...hot].sort());
    expect(await idsOf(`/v1/webhooks/${other.id}/deliveries?status=delivered`)).toEqual([]);
    expect(await idsOf('/v1/deliveries?from=2026-01-01T00:00:00.002Z')).toHaveLength(2);
    expect(await idsOf('/v1/deliveries?to=2026-01-01T00:00:00.002Z')).toHaveLength(2);
    expect(await idsOf('/v1/deliveries?from=2026-01-01T00:00:00.002Z&to=2026-01-01T00:00:00.002Z')).toEqual(
      [],
    );
  });

  test('is paginated with cursors bound to route, filters and tenant', async () => {
    const ids = await t.addDeliveries(5);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { data, pagination } = (await t.call('GET', `/v1/deliveries?limit=2${cursor}`)).json();
      seen.push(...data.map((row: { id: string }) => row.id));
      cursor = pagination.next_cursor === null ? '' : `&cursor=${pagination.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual([...ids].reverse());

    const first = await t.call('GET', '/v1/deliveries?limit=2');
    expect(first.headers.link).toContain('rel="next"');
    const next = first.json().pagination.next_cursor;
    const { auth } = await t.addTenant();
    for (const answer of [
      await t.call('GET', `/v1/deliveries?limit=2&status=pending&cursor=${next}`),
      await t.call('GET', `/v1/dead-letters?limit=2&cursor=${next}`),
      await t.call('GET', `/v1/webhooks/${webhookId}/deliveries?limit=2&cursor=${next}`),
      await t.call('GET', `/v1/deliveries?limit=2&cursor=${next}`, undefined, auth),
    ]) {
      expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_CURSOR' });
    }
  });

  test.each([
    ['status=lost', 'INVALID_REQUEST', 'status'],
    ['event=signal.lost', 'INVALID_REQUEST', 'event'],
    ['from=yesterday', 'INVALID_REQUEST', 'from'],
    ['limit=101', 'INVALID_REQUEST', 'limit'],
    ['state=dead', 'UNKNOWN_PARAMETER', 'state'],
  ])('%s is rejected', async (query, code, parameter) => {
    for (const path of ['/v1/deliveries', `/v1/webhooks/${webhookId}/deliveries`]) {
      const answer = await t.call('GET', `${path}?${query}`);
      expect(answer.json()).toMatchObject({ status: 400, code, errors: [{ parameter }] });
    }
  });
});

describe('one delivery', () => {
  test('shows every attempt with the exact bytes sent, the response, the error and timings', async () => {
    const [id = ''] = await t.addDeliveries(1);
    await t.attempt(id, { status: 'retrying', at: t.clock.now() });
    t.clock.advance(1_000);
    await t.attempt(id, { status: 'delivered' }, 2);
    const { data } = (await t.call('GET', `/v1/deliveries/${id}`)).json();
    expect(deliveryDetailSchema.parse(data)).toEqual(data);
    expect(data).toMatchObject({ id, status: 'delivered', attempt_count: 2, next_attempt_at: null });
    expect(data.attempts).toMatchObject([
      {
        attempt: 1,
        started_at: '2026-01-01T00:00:00.001Z',
        duration_ms: 12.5,
        request: {
          headers: {
            host: 'receiver.example.com',
            'webhook-id': id,
            'webhook-signature': 'v1,ghi',
            'x-service-signature': 'def',
            'x-service-attempt': '1',
          },
          body: `${data.body.slice(0, -1)},"signature":"abc"}`,
        },
        response: { status: 500, headers: { 'set-cookie': ['a', 'b'] }, body: 'no' },
        error: { code: 'http_status', message: 'answered 500' },
        timings: { connected_ms: 1, headers_ms: 12 },
      },
      { attempt: 2, error: null, response: { status: 200, body: 'ok' } },
    ]);
  });

  test('is logged as rejected and never sent if it is too large', async () => {
    await changePlan(t, t.tenant.id, 'enterprise'); // the only plan that allows a format this large
    const custom = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, 'x'.repeat(8_000)]));
    const { id } = await t.addWebhook({ payload_format: { custom } });
    await t.addDeliveries(1);
    const [row] = (await t.call('GET', `/v1/webhooks/${id}/deliveries`)).json().data;
    expect(row).toMatchObject({ status: 'rejected', next_attempt_at: null, attempt_count: 0 });
    const { body } = (await t.call('GET', `/v1/deliveries/${row.id}`)).json().data;
    expect(Buffer.byteLength(body)).toBeGreaterThan(MAX_BODY_BYTES);
    const [standard] = (await t.call('GET', `/v1/webhooks/${webhookId}/deliveries`)).json().data;
    expect(standard.status).toBe('pending');
  });

  test('is 404 if it does not exist', async () => {
    const answer = await t.call('GET', '/v1/deliveries/dlv_none');
    expect(answer.json()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });
});

describe('dead letters', () => {
  test('are listed with their expiry and shown individually', async () => {
    const [dead = '', alive = ''] = await t.addDeliveries(2);
    await t.attempt(dead, { status: 'dead', expiresAt: Date.UTC(2026, 0, 8) });
    const { data } = (await t.call('GET', '/v1/dead-letters')).json();
    expect(data).toMatchObject([{ id: dead, status: 'dead', expires_at: '2026-01-08T00:00:00.000Z' }]);
    const one = (await t.call('GET', `/v1/dead-letters/${dead}`)).json().data;
    expect(deliveryDetailSchema.parse(one)).toEqual(one);
    expect(one).toMatchObject({
      id: dead,
      expires_at: '2026-01-08T00:00:00.000Z',
      attempts: [{ attempt: 1 }],
    });
    expect((await t.call('GET', `/v1/dead-letters/${alive}`)).json().code).toBe('NOT_FOUND');
  });

  test('have pages and filters', async () => {
    const ids = await t.addDeliveries(3);
    for (const id of ids) await t.attempt(id, { status: 'dead', expiresAt: Date.UTC(2026, 0, 8) });
    const first = (await t.call('GET', '/v1/dead-letters?limit=2')).json();
    const cursor = first.pagination.next_cursor;
    const second = (await t.call('GET', `/v1/dead-letters?limit=2&cursor=${cursor}`)).json();
    expect([...first.data, ...second.data].map((row) => row.id)).toEqual([...ids].reverse());
    expect(await idsOf('/v1/dead-letters?event=signal.new_hot')).toEqual([]);
    expect(await idsOf('/v1/dead-letters?from=2026-01-01T00:00:00.003Z')).toEqual([ids[2]]);
    expect((await t.call('GET', '/v1/dead-letters?status=dead')).json().code).toBe('UNKNOWN_PARAMETER');
  });
});
