import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
beforeEach(async () => {
  t = await buildWebhookApp();
});
afterEach(() => t.app.close());

type Route = readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string, object?];

const READS: readonly Route[] = [
  ['GET', '/v1/webhooks'],
  ['GET', '/v1/webhooks/WHK'],
  ['GET', '/v1/webhooks/WHK/test'],
  ['GET', '/v1/webhooks/WHK/deliveries'],
  ['GET', '/v1/webhooks/source-ips'],
  ['POST', '/v1/webhooks/preview', {}],
  ['GET', '/v1/deliveries'],
  ['GET', '/v1/deliveries/DLV'],
  ['GET', '/v1/dead-letters'],
  ['GET', '/v1/dead-letters/DLV'],
];
const WRITES: readonly Route[] = [
  ['POST', '/v1/webhooks', { url: TARGET }],
  ['PATCH', '/v1/webhooks/WHK', { label: 'changed' }],
  ['POST', '/v1/webhooks/WHK/secret'],
  ['POST', '/v1/webhooks/WHK/test'],
  ['POST', '/v1/webhooks/WHK/pause'],
  ['POST', '/v1/webhooks/WHK/resume'],
  ['POST', '/v1/webhooks/WHK/replay', {}],
  ['POST', '/v1/deliveries/DLV/replay'],
  ['DELETE', '/v1/webhooks/WHK'],
];

const name = ([method, url]: Route) => `${method} ${url}`;
const fill = (url: string, ids: { webhook: string; delivery: string }) =>
  url.replace('WHK', ids.webhook).replace('DLV', ids.delivery);

/** Adds a webhook with a dead letter. */
async function addDeadLetter() {
  const { id: webhook } = await t.addWebhook();
  const [delivery = ''] = await t.addDeliveries(1);
  await t.attempt(delivery, { status: 'dead', expiresAt: Date.UTC(2027, 0, 1) });
  return { webhook, delivery };
}

test.each(READS.map((route) => [name(route), route] as const))(
  '%s requires webhooks:read',
  async (_, route) => {
    const ids = await addDeadLetter();
    const [method, url, payload] = route;
    const without = await t.addKey({ scopes: ['signals:write', 'leads:read'] });
    const refused = await t.call(method, fill(url, ids), payload, without.auth);
    expect(refused.json()).toMatchObject({
      status: 403,
      code: 'INSUFFICIENT_SCOPE',
      required_scope: 'webhooks:read',
    });
    const reader = await t.addKey({ scopes: ['webhooks:read'] });
    expect((await t.call(method, fill(url, ids), payload, reader.auth)).statusCode).toBe(200);
  },
);

test.each(WRITES.map((route) => [name(route), route] as const))(
  '%s requires webhooks:write',
  async (_, route) => {
    const ids = await addDeadLetter();
    const [method, url, payload] = route;
    const reader = await t.addKey({ scopes: ['webhooks:read'] });
    const before = await t.store.getEndpoint(t.tenant.id, ids.webhook);
    const refused = await t.call(method, fill(url, ids), payload, reader.auth);
    expect(refused.json()).toMatchObject({
      status: 403,
      code: 'INSUFFICIENT_SCOPE',
      required_scope: 'webhooks:write',
    });
    expect(await t.store.getEndpoint(t.tenant.id, ids.webhook)).toEqual(before);
    expect((await t.store.getDelivery(t.tenant.id, ids.delivery))?.status).toBe('dead');
  },
);

const WITH_IDS = [...READS, ...WRITES].filter(([, url]) => /WHK|DLV/.test(url));

test.each(WITH_IDS.map((route) => [name(route), route] as const))(
  "%s with another tenant's id is 404 like an unknown id, and changes nothing",
  async (_, route) => {
    const ids = await addDeadLetter();
    const [method, url, payload] = route;
    const { auth } = await t.addTenant();
    const before = await t.store.getEndpoint(t.tenant.id, ids.webhook);
    const foreign = await t.call(method, fill(url, ids), payload, auth);
    const unknown = await t.call(method, fill(url, { webhook: 'whk_x', delivery: 'dlv_x' }), payload, auth);
    expect([foreign.statusCode, foreign.json().code]).toEqual([404, 'NOT_FOUND']);
    expect([unknown.statusCode, unknown.json().code]).toEqual([404, 'NOT_FOUND']);
    expect(await t.store.getEndpoint(t.tenant.id, ids.webhook)).toEqual(before);
    expect((await t.store.getDelivery(t.tenant.id, ids.delivery))?.status).toBe('dead');
    expect(t.changed).toEqual([]);
  },
);

test('lists contain nothing of another tenant', async () => {
  await addDeadLetter();
  const { auth } = await t.addTenant();
  for (const url of ['/v1/webhooks', '/v1/deliveries', '/v1/dead-letters']) {
    expect((await t.call('GET', url, undefined, auth)).json().data).toEqual([]);
  }
});

test('an unknown parameter or member is rejected on every route', async () => {
  const ids = await addDeadLetter();
  for (const [method, url, payload] of [...READS, ...WRITES]) {
    const query = await t.call(method, `${fill(url, ids)}?bogus=1`, payload);
    expect([name([method, url]), query.json().code]).toEqual([name([method, url]), 'UNKNOWN_PARAMETER']);
    if (method === 'GET') continue;
    const member = await t.call(method, fill(url, ids), { ...payload, bogus: 1 });
    expect([name([method, url]), member.json().errors?.[0]?.pointer]).toEqual([
      name([method, url]),
      '/bogus',
    ]);
  }
});
