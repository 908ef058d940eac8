import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

/** What every name resolves to; empty: it does not resolve. */
let answer: string[] = [];
vi.mock('../../src/webhooks/target-lookup.ts', () => ({
  createLookup: () => async () => answer,
}));

let t: WebhookApp;
beforeEach(async () => {
  t = await buildWebhookApp();
});
afterEach(() => t.app.close());

const NAMED = 'https://receiver.example.com/hook';

test.each([[['10.0.0.1']], [['93.184.216.34', '169.254.169.254']], [['2606:4700::1111', '::ffff:10.0.0.1']]])(
  'a name that resolves to %j is rejected on create and update',
  async (resolved) => {
    const { id } = await t.addWebhook();
    answer = resolved;
    const created = await t.call('POST', '/v1/webhooks', { url: NAMED });
    const changed = await t.call('PATCH', `/v1/webhooks/${id}`, { url: NAMED });
    for (const refused of [created, changed]) {
      expect(refused.json()).toMatchObject({
        status: 400,
        code: 'INVALID_REQUEST',
        errors: [{ pointer: '/url' }],
      });
      for (const address of resolved) expect(refused.body).not.toContain(address);
    }
    expect((await t.call('GET', `/v1/webhooks/${id}`)).json().data.url).toBe(TARGET);
  },
);

test.each([[['93.184.216.34']], [[]]])('a name that resolves to %j is accepted', async (resolved) => {
  answer = resolved;
  expect((await t.call('POST', '/v1/webhooks', { url: NAMED })).statusCode).toBe(201);
});
