import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';

const LOGS = '/dashboard/webhook-logs';

let made: WebhookApp;
let browser: TestBrowser;
let webhookId: string;
beforeEach(async () => {
  made = await buildWebhookApp();
  webhookId = (await made.addWebhook()).id;
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

test('one, some, and all that ended since a time are sent again, and the screen says how many', async () => {
  const ids = await made.addDeliveries(4);
  const ended = { status: 'dead', expiresAt: made.clock.now() + 1_000_000 } as const;
  for (const id of ids) await made.attempt(id, ended);
  const [first = '', second = '', third = ''] = ids;
  const one = await browser.post(`${LOGS}/${first}/replay`, {}, `${LOGS}/${first}`);
  expect(one.headers.location).toBe(`${LOGS}/${first}?done=replayed`);
  const some = await browser.post(`${LOGS}/replay`, { id: [second, third] }, LOGS);
  expect(some.headers.location).toBe(`${LOGS}?done=replayed&count=2`);
  expect((await browser.get(some.headers.location ?? '')).body).toContain(
    '2 deliveries are being sent again.',
  );
  const all = (fields: Record<string, string>) => browser.post(`${LOGS}/replay-all`, fields, LOGS);
  expect((await all({ status: 'dead', from: '2027-01-01T00:00' })).headers.location).toContain(
    'replayed-none',
  );
  const since = { status: 'dead', from: '2025-12-31T00:00', webhook_id: webhookId };
  expect((await all(since)).headers.location).toBe(`${LOGS}?done=replayed&count=1`);
  expect((await browser.get(`${LOGS}?done=replayed&count=<i>`)).body).toContain('It is being sent again.');
  expect((await all({ ...since, webhook_id: 'whk_none' })).statusCode).toBe(404);
  expect(made.nudged.length).toBeGreaterThanOrEqual(4);
});
