import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
beforeEach(async () => {
  t = await buildWebhookApp();
});
afterEach(() => t.app.close());

const DEFAULTS = {
  timezone: 'UTC',
  digest: {
    ...{ enabled: true, hour: 8, frequency: 'daily', icp_profile_ids: [] },
    recipients: ['owner@example.com'],
  },
};

test('settings have defaults, and an update keeps members that it omits', async () => {
  expect((await t.call('GET', '/v1/settings')).json()).toEqual({ data: DEFAULTS });
  const changed = await t.call('PATCH', '/v1/settings', { timezone: 'Europe/Berlin', digest: { hour: 6 } });
  expect(changed.statusCode).toBe(200);
  const expected = { timezone: 'Europe/Berlin', digest: { ...DEFAULTS.digest, hour: 6 } };
  expect(changed.json()).toEqual({ data: expected });
  await t.call('PATCH', '/v1/settings', { digest: { enabled: false } });
  expect((await t.call('GET', '/v1/settings')).json().data).toEqual({
    ...expected,
    digest: { ...expected.digest, enabled: false },
  });
});

test.each([
  [{ timezone: 'Mars/Olympus' }, '/timezone'],
  [{ timezone: '+01:00' }, '/timezone'],
  [{ digest: { hour: 24 } }, '/digest/hour'],
  [{ digest: { hour: 7.5 } }, '/digest/hour'],
  [{ digest: { minute: 5 } }, '/digest/minute'],
  [{ zone: 'UTC' }, '/zone'],
])('rejects %j', async (body, pointer) => {
  const answer = await t.call('PATCH', '/v1/settings', body);
  expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer }] });
  expect((await t.call('GET', '/v1/settings')).json().data).toEqual(DEFAULTS);
});

test('reading requires keys:read, writing keys:write', async () => {
  const reader = await t.addKey({ scopes: ['keys:read'] });
  const other = await t.addKey({ scopes: ['signals:write'] });
  expect((await t.call('GET', '/v1/settings', undefined, other.auth)).statusCode).toBe(403);
  expect((await t.call('GET', '/v1/settings', undefined, reader.auth)).statusCode).toBe(200);
  expect((await t.call('PATCH', '/v1/settings', {}, reader.auth)).statusCode).toBe(403);
});
