import { afterEach, expect, test } from 'vitest';
import type { Plan } from '../../src/model/tenant.ts';
import { buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
afterEach(() => t.app.close());

const open = async (plan: Plan) => {
  t = await buildWebhookApp({ plan });
};

test.each<[string, string, (n: number) => object, number]>([
  ['keys', '/v1/keys', (n) => ({ name: `Key ${n}`, preset: 'read' }), 20],
  ['profiles', '/v1/icps', (n) => ({ name: `Profile ${n}` }), 10],
  ['sources', '/v1/sources', (n) => ({ kind: 'hackernews', name: `Source ${n}`, query: 'crm' }), 10],
])('one more than the plan has of %s is refused, with the number', async (_, path, input, limit) => {
  await open('starter');
  const before = (await t.call('GET', `${path}?limit=100`)).json().data.length;
  let last = '';
  for (let n = before; n < limit; n++) {
    const made = await t.call('POST', path, input(n));
    expect(made.statusCode).toBe(201);
    last = made.json().data.id;
  }
  const refused = await t.call('POST', path, input(limit));
  expect(refused.statusCode).toBe(403);
  expect(refused.json()).toMatchObject({ code: 'PLAN_REQUIRED', limit, required_plan: 'pro' });
  expect(refused.json().detail).toContain(`at most ${limit} `);

  expect((await t.call('DELETE', `${path}/${last}`)).statusCode).toBe(204);
  expect((await t.call('POST', path, input(limit))).statusCode).toBe(201);
});

/** A format whose JSON has exactly `bytes` bytes. */
function formatOf(bytes: number) {
  const custom: Record<string, string> = {};
  const size = () => Buffer.byteLength(JSON.stringify({ flatten: false, custom }));
  for (let n = 10; size() < bytes; n++) {
    custom[`k${n}`] = '';
    const room = bytes - size();
    // What remains must not be too little for one more member.
    custom[`k${n}`] = room > 24_600 ? '€'.repeat(8_192) : 'x'.repeat(Math.min(8_000, room));
  }
  expect(size()).toBe(bytes);
  return { flatten: false, custom };
}

test.each([
  ['pro', 16_384, 'enterprise'],
  ['enterprise', 458_752, undefined],
] as const)('a payload format on %s has at most %i bytes', async (plan, limit, requiredPlan) => {
  await open(plan);
  const { id } = await t.addWebhook();
  const fits = { payload_format: formatOf(limit) };
  const tooLarge = { payload_format: formatOf(limit + 1) };
  for (const [method, path] of [
    ['POST', '/v1/webhooks'],
    ['PATCH', `/v1/webhooks/${id}`],
    ['POST', '/v1/webhooks/preview'],
  ] as const) {
    const url = path === '/v1/webhooks' ? { url: TARGET } : {};
    expect((await t.call(method, path, { ...url, ...fits })).statusCode).toBeLessThan(300);
    const refused = await t.call(method, path, { ...url, ...tooLarge });
    expect(refused.statusCode).toBe(403);
    expect(refused.json()).toMatchObject({ code: 'PLAN_REQUIRED', limit });
    expect(refused.json().required_plan).toBe(requiredPlan);
    expect(refused.json().detail).toContain(`at most ${limit} bytes`);
  }
});
