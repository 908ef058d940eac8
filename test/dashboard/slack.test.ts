import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SendTest } from '../../src/webhooks/test-delivery.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';

const PAGE = '/dashboard/settings/integrations/slack';
const ADDRESS = 'https://hooks.slack.example/services/T0/B0/x';

let made: TestApp;
let browser: TestBrowser;
let sent: Parameters<SendTest>[0][] = [];
beforeEach(async () => {
  sent = [];
  made = await buildTestApp({
    async sendTest(request) {
      sent.push(request);
      return { kind: 'throttled', retryAfterMs: 1_000 };
    },
  });
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

const endpoints = async () =>
  (await made.app.inject({ url: '/v1/webhooks', headers: made.auth })).json().data;

test('a URL and one checkbox create an endpoint that sends hot signals to Slack, and a test message is sent', async () => {
  const answer = await browser.post(PAGE, { url: ADDRESS, hot_only: 'on' });
  expect(answer.statusCode).toBe(200);
  expect(await endpoints()).toMatchObject([
    {
      url: ADDRESS,
      label: 'Slack',
      event_types: ['signal.detected'],
      classifications: ['hot'],
      payload_format: { preset: 'slack' },
    },
  ]);
  expect(sent).toHaveLength(1);
  expect(JSON.parse(sent[0]?.body ?? '')).toHaveProperty('blocks');
});

test('without the checkbox, warm signals are sent, too; an invalid URL is reported at its field', async () => {
  const refused = await browser.post(PAGE, { url: 'slack', hot_only: 'on' });
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toMatch(/id="url"[^>]*aria-invalid="true"/);
  expect(sent).toEqual([]);
  await browser.post(PAGE, { url: ADDRESS });
  expect(await endpoints()).toMatchObject([{ classifications: ['hot', 'warm'] }]);
});

test("a message has the post's headline, one reason, and links to rate it", async () => {
  await browser.post(PAGE, { url: ADDRESS, hot_only: 'on' });
  const text =
    'Which CRM for plumbers?\n\nWe are looking for a new CRM this month, budget approved. Any recommendations?';
  const payload = { platform: { name: 'forum' }, text };
  await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload });
  const [delivery] = (await made.app.inject({ url: '/v1/deliveries', headers: made.auth })).json().data;
  const shown = await made.app.inject({ url: `/v1/deliveries/${delivery.id}`, headers: made.auth });
  const { body } = shown.json().data;
  expect(body).toContain('Which CRM for plumbers?');
  expect(body).toContain('Looking for');
  const [link = ''] = /https:\/\/signals\.example\.com\/feedback\/[\w-]+/.exec(body) ?? [];
  const path = new URL(link).pathname;
  expect((await made.app.inject({ method: 'POST', url: path })).statusCode).toBe(200);
  const [signal] = (await made.app.inject({ url: '/v1/signals', headers: made.auth })).json().data;
  expect((await made.store.getFeedback(made.tenant.id, signal.signal_id))?.relevant).toBe(true);
});

test('the webhook form explains each event next to its checkbox', async () => {
  const { body } = await browser.get('/dashboard/settings/integrations/webhooks/new');
  expect(body).toContain('For hot signals only. A chat message is sent once, even with both.');
  expect(body).toContain('Minimum score');
  expect(body).toContain('Message for Slack');
});
