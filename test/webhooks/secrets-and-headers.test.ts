import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
beforeEach(async () => {
  t = await buildWebhookApp();
});
afterEach(() => t.app.close());

const HOUR_MS = 3_600_000;

describe('a new secret with a grace period', () => {
  test('keeps the previous one valid; regenerating without a grace period ends it', async () => {
    const { id } = await t.addWebhook();
    const before = await t.store.getEndpoint(t.tenant.id, id);
    const answer = await t.call('POST', `/v1/webhooks/${id}/secret`, { grace_hours: 1.5 });
    expect(answer.json().data.previous_secret_expires_at).toBe(
      new Date(t.clock.now() + 1.5 * HOUR_MS).toISOString(),
    );
    const during = await t.store.getEndpoint(t.tenant.id, id);
    expect(during?.previousSecretBox).toEqual(before?.secretBox);
    expect(during?.secretBox).not.toEqual(before?.secretBox);

    const ended = await t.call('POST', `/v1/webhooks/${id}/secret`);
    expect(ended.json().data.previous_secret_expires_at).toBeNull();
    expect(await t.store.getEndpoint(t.tenant.id, id)).toMatchObject({ previousSecretBox: null });
  });

  test.each([-1, 48.1, '1'])('of %j hours is rejected', async (hours) => {
    const { id } = await t.addWebhook();
    const answer = await t.call('POST', `/v1/webhooks/${id}/secret`, { grace_hours: hours });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors).toMatchObject([{ pointer: '/grace_hours' }]);
  });
});

describe('the custom headers of an endpoint', () => {
  const TOKEN = 'Bearer a-token-of-the-gateway';
  const headers = { Authorization: TOKEN, 'X-Team': 'ops' };

  test('show only their last 4 characters, none if short, and are encrypted in the store', async () => {
    const { id, ...made } = await t.addWebhook({ headers });
    const shown = { Authorization: 'eway', 'X-Team': '' };
    expect(made.headers).toEqual(shown);
    const read = await t.call('GET', `/v1/webhooks/${id}`);
    expect(read.json().data.headers).toEqual(shown);
    const stored = await t.store.getEndpoint(t.tenant.id, id);
    expect(Buffer.from(stored?.headersBox ?? []).toString('latin1')).not.toContain(TOKEN);
    expect(JSON.stringify({ ...stored, headersBox: null })).not.toContain(TOKEN);
    expect(t.logLines.join('')).not.toContain(TOKEN);
  });

  test('are kept when something else is changed, are replaced as a whole, and can be removed', async () => {
    const { id } = await t.addWebhook({ headers });
    const change = async (patch: object) =>
      (await t.call('PATCH', `/v1/webhooks/${id}`, patch)).json().data.headers;
    expect(await change({ label: 'CRM' })).toEqual({ Authorization: 'eway', 'X-Team': '' });
    expect(await change({ headers: { 'X-Key': '0123456789' } })).toEqual({ 'X-Key': '6789' });
    expect(await change({ headers: {} })).toEqual({});
    expect(await t.store.getEndpoint(t.tenant.id, id)).toMatchObject({ headersBox: null });
  });

  test.each([
    ['Host', 'example.com'],
    ['content-type', 'text/plain'],
    ['Webhook-Id', 'x'],
    ['X-Service-Signature', 'x'],
    ['x-event-type', 'x'],
    ['Proxy-Authorization', 'x'],
    ['Transfer-Encoding', 'chunked'],
    ['X Team', 'x'],
    ['', 'x'],
    ['X-Team', 'a\r\nX-Other: b'],
    ['X-Team', ''],
    ['X-Team', ' padded '],
    ['X-Team', 'grüße'],
  ])('reject %j: %j', async (name, value) => {
    const answer = await t.call('POST', '/v1/webhooks', {
      url: 'http://127.0.0.1:9/',
      headers: { [name]: value },
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors[0].pointer).toMatch(/^\/headers\//);
  });

  test('are rejected with a reason if a name is reserved', async () => {
    const headers = { 'webhook-id': 'x' };
    const answer = await t.call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', headers });
    expect(answer.json().errors).toEqual([
      {
        pointer: '/headers/webhook-id',
        detail: '"webhook-id" is a header set by HTTP or the signature.',
      },
    ]);
  });

  test('are limited to 8,192 characters together', async () => {
    // The names have 9 characters.
    const add = (chars: number) => {
      const headers = {
        'X-A': 'a'.repeat(4_000),
        'X-B': 'b'.repeat(4_000),
        'X-C': 'c'.repeat(chars - 8_009),
      };
      return t.call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', headers });
    };
    expect((await add(8_192)).statusCode).toBe(201);
    const answer = await add(8_193);
    expect(answer.json().errors).toEqual([
      {
        pointer: '/headers',
        detail: '"headers" must have at most 8,192 characters, names and values together.',
      },
    ]);
  });

  test('are limited to 10, with names that are distinct regardless of case', async () => {
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`X-${i}`, 'x']));
    for (const refused of [many, { 'X-A': '1', 'x-a': '2' }]) {
      const answer = await t.call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', headers: refused });
      expect(answer.json().errors).toMatchObject([{ pointer: '/headers' }]);
    }
  });
});
