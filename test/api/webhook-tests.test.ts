import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AttemptRecord } from '../../src/model/delivery.ts';
import { toBodyBytes } from '../../src/model/delivery.ts';
import { createSigner } from '../../src/webhooks/signature.ts';
import type { SendTest } from '../../src/webhooks/test-delivery.ts';
import { aPost } from '../support/app.ts';
import { anotherPost, buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
let answerOf: (request: Parameters<SendTest>[0]) => Partial<AttemptRecord> | 'throttled';

/** Signs like the dispatcher and responds as the test wants. */
const sendTest: SendTest = async (request) => {
  const given = answerOf(request);
  if (given === 'throttled') return { kind: 'throttled', retryAfterMs: 12_400 };
  const { body, ...signatures } = createSigner(secrets.get(request.endpoint.id) ?? '').seal(
    { id: request.deliveryId, ...toBodyBytes(request.body) },
    1_000,
  );
  return {
    kind: 'sent',
    record: {
      id: 'att_1',
      attempt: 1,
      startedAt: 1_000_000,
      durationMs: 31.5,
      sent: { host: '127.0.0.1:9', contentLength: body.length, ...signatures },
      response: { status: 200, headers: { 'x-seen': 'yes' }, body: 'thanks' },
      error: null,
      timings: { connectedMs: 3, headersMs: 30 },
      ...given,
    },
  };
};
const secrets = new Map<string, string>();

beforeEach(async () => {
  answerOf = () => ({});
  t = await buildWebhookApp({ sendTest });
});
afterEach(() => t.app.close());

async function addWebhook(settings = {}) {
  const endpoint = await t.addWebhook(settings);
  secrets.set(endpoint.id, endpoint.secret);
  return endpoint;
}

describe('POST /v1/webhooks/{id}/test', () => {
  test('returns the request and the response', async () => {
    const { id } = await addWebhook();
    const answer = await t.call('POST', `/v1/webhooks/${id}/test`);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data).toMatchObject({
      success: true,
      error: null,
      duration_ms: 31.5,
      timings: { connected_ms: 3, headers_ms: 30 },
      response: { status: 200, headers: { 'x-seen': 'yes' }, body: 'thanks' },
    });
    const { headers, body } = answer.json().data.request;
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-attempt': '1',
      'webhook-id': t.tests[0]?.deliveryId,
      'webhook-timestamp': '1000',
      'content-length': String(Buffer.byteLength(body)),
    });
    expect(JSON.parse(body)).toMatchObject({ event: 'webhook.test', tenant_id: t.tenant.id });
  });

  test('sends a sample of the given event in the format of the endpoint', async () => {
    const { id } = await addWebhook();
    const send = async (event: string) =>
      JSON.parse((await t.call('POST', `/v1/webhooks/${id}/test`, { event })).json().data.request.body);
    expect(await send('deal.changed')).toMatchObject({ event: 'deal.changed', id: 'evt_test' });
    expect(await send('signal.detected')).toMatchObject({ signal_id: 'sig_sample' });
    expect(t.tests.map(({ eventType }) => eventType)).toEqual(['deal.changed', 'signal.detected']);
    const refused = await t.call('POST', `/v1/webhooks/${id}/test`, { event: 'no.such' });
    expect(refused.statusCode).toBe(400);
  });

  test('sends the same bytes per secret, with a signature known in advance', async () => {
    const { id, secret } = await addWebhook();
    const expected = (await t.call('GET', `/v1/webhooks/${id}/test`)).json().data;
    const bodies = [];
    for (let i = 0; i < 2; i++) {
      t.clock.advance(86_400_000);
      const { request } = (await t.call('POST', `/v1/webhooks/${id}/test`)).json().data;
      bodies.push(request.body);
      expect(request.headers['x-service-signature']).toBe(expected.signature);
    }
    expect(bodies).toEqual([expected.body, expected.body]);
    expect(expected.signature).toBe(createHmac('sha256', secret).update(expected.body).digest('hex'));
    const { signature, ...rest } = JSON.parse(expected.body);
    expect(signature).toBe(createHmac('sha256', secret).update(JSON.stringify(rest)).digest('hex'));

    await t.call('POST', `/v1/webhooks/${id}/secret`);
    const later = (await t.call('GET', `/v1/webhooks/${id}/test`)).json().data;
    expect(later.body).not.toBe(expected.body);
    expect(later.body.replace(/,"signature":"\w+"/, '')).toBe(JSON.stringify(rest));
  });

  test('has a new id each time, because receivers drop ids they have seen', async () => {
    const { id } = await addWebhook();
    await t.call('POST', `/v1/webhooks/${id}/test`);
    await t.call('POST', `/v1/webhooks/${id}/test`);
    expect(t.tests[0]?.deliveryId).toMatch(/^dlv_/);
    expect(t.tests[1]?.deliveryId).not.toBe(t.tests[0]?.deliveryId);
  });

  test('reports a failure with the response', async () => {
    const { id } = await addWebhook();
    const error = { code: 'http_status', message: 'The receiver answered 500.' } as const;
    answerOf = () => ({ error, response: { status: 500, headers: {}, body: 'no' } });
    const answer = await t.call('POST', `/v1/webhooks/${id}/test`);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data).toMatchObject({ success: false, error, response: { status: 500 } });
  });

  test('reports if nothing could be sent or nothing came back', async () => {
    const { id } = await addWebhook();
    const error = { code: 'blocked_target', message: 'Not public.' } as const;
    answerOf = () => ({ sent: null, response: null, error, timings: {} });
    expect((await t.call('POST', `/v1/webhooks/${id}/test`)).json().data).toEqual({
      success: false,
      request: { headers: {}, body: null },
      response: null,
      error,
      duration_ms: 31.5,
      timings: { connected_ms: null, headers_ms: null },
    });
  });

  test('is 429 with Retry-After when throttled', async () => {
    const { id } = await addWebhook();
    answerOf = () => 'throttled';
    const answer = await t.call('POST', `/v1/webhooks/${id}/test`);
    expect(answer.statusCode).toBe(429);
    expect(answer.headers['retry-after']).toBe('13');
    expect(answer.json().code).toBe('RATE_LIMITED');
  });

  test('works while paused, and changes neither the failure count nor the status', async () => {
    const { id } = await addWebhook();
    await t.call('POST', `/v1/webhooks/${id}/pause`);
    const before = await t.store.getEndpoint(t.tenant.id, id);
    const error = { code: 'timeout', message: 'Too late.' } as const;
    answerOf = () => ({ error });
    expect((await t.call('POST', `/v1/webhooks/${id}/test`)).json().data.success).toBe(false);
    expect(t.tests[0]?.endpoint.status).toBe('paused');
    expect(await t.store.getEndpoint(t.tenant.id, id)).toEqual(before);
  });

  test('ignores the payload format of the endpoint', async () => {
    const { id } = await addWebhook({ payload_format: { include: ['signal_id'] } });
    const { request } = (await t.call('POST', `/v1/webhooks/${id}/test`)).json().data;
    expect(Object.keys(JSON.parse(request.body))).toEqual([
      ...['event', 'tenant_id', 'data', 'id', 'timestamp', 'signature'],
    ]);
  });

  test("is a message in the format of the endpoint's service, with the announced signature", async () => {
    const { id } = await addWebhook({ payload_format: { preset: 'slack' } });
    const expected = (await t.call('GET', `/v1/webhooks/${id}/test`)).json().data;
    const { request } = (await t.call('POST', `/v1/webhooks/${id}/test`)).json().data;
    expect(request.body).toBe(expected.body);
    expect(JSON.parse(expected.body).text).toBe('Test delivery from Signalpost');
    expect(Object.keys(JSON.parse(request.body))).toEqual([
      ...['text', 'blocks', 'unfurl_links', 'unfurl_media', 'signature'],
    ]);
  });

  test('is 503 if no dispatcher runs', async () => {
    await t.app.close();
    t = await buildWebhookApp();
    const { id } = await t.addWebhook();
    const answer = await t.call('POST', `/v1/webhooks/${id}/test`);
    expect(answer.statusCode).toBe(503);
    expect(answer.json().code).toBe('UNAVAILABLE');
  });
});

describe('POST /v1/webhooks/preview', () => {
  const preview = (payload: object) => t.call('POST', '/v1/webhooks/preview', payload);

  test('shows a sample if there are no signals yet', async () => {
    const answer = await preview({ payload_format: { include: ['signal_id', 'icp_score'] } });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      data: { bodies: [{ signal_id: 'sig_sample', icp_score: 86 }], sample: true },
    });
  });

  test('shows the newest real signals, newest first', async () => {
    const ids = [];
    for (let i = 0; i < 4; i++) {
      t.clock.advance(1_000);
      const made = await t.call('POST', '/v1/signals', anotherPost(i));
      ids.push(made.json().data.signals[0].signal_id);
    }
    const answer = await preview({ payload_format: { include: ['signal_id'], custom: { to: 'crm' } } });
    expect(answer.json().data).toEqual({
      bodies: [ids[3], ids[2], ids[1]].map((signal_id) => ({ signal_id, to: 'crm' })),
      sample: false,
    });
  });

  test('shows one signal by id, exactly as an endpoint with that format receives it', async () => {
    const payload_format = { exclude: ['excerpt'], flatten: true, custom: { n: 1 } };
    await t.addWebhook({ payload_format });
    const [delivery] = await t.addDeliveries(1);
    const { body, subject_id } = (await t.call('GET', `/v1/deliveries/${delivery}`)).json().data;
    const answer = await preview({ payload_format, signal_id: subject_id });
    expect(answer.json().data).toEqual({ bodies: [JSON.parse(body)], sample: false });
  });

  test('shows a message in the format of a service', async () => {
    const ntfy = await preview({ payload_format: { preset: 'ntfy', topic: 'sales' } });
    expect(ntfy.json().data).toMatchObject({ bodies: [{ topic: 'sales', priority: 4 }], sample: true });
    const bad = await preview({ payload_format: { preset: 'ntfy' } });
    expect(bad.json().errors).toEqual([{ pointer: '/payload_format/topic', detail: expect.any(String) }]);
  });

  test('rejects an invalid format with its pointer, and an unknown or foreign signal', async () => {
    const bad = await preview({ payload_format: { include: ['signal_id', 'nope'] } });
    expect(bad.json()).toMatchObject({ status: 400, errors: [{ pointer: '/payload_format/include/1' }] });
    expect((await preview({ signal_id: 'sig_none' })).json()).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    });
    const { auth } = await t.addTenant();
    const made = await t.call('POST', '/v1/signals', aPost(), auth);
    const { signal_id } = made.json().data.signals[0];
    expect((await preview({ signal_id })).statusCode).toBe(404);
  });
});

describe('GET /v1/webhooks/source-ips', () => {
  test('returns the published ranges', async () => {
    await t.app.close();
    t = await buildWebhookApp({ env: { WEBHOOK_SOURCE_IPS: '203.0.113.0/28, 2001:db8::/64' } });
    const answer = await t.call('GET', '/v1/webhooks/source-ips');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ data: { source_ips: ['203.0.113.0/28', '2001:db8::/64'] } });
  });

  test('is empty if none are published', async () => {
    expect((await t.call('GET', '/v1/webhooks/source-ips')).json()).toEqual({ data: { source_ips: [] } });
  });
});
