import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendTestToNobody } from '../support/fake-receiver.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';
import { runInProcess } from './in-process.ts';

let t: WebhookApp;
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  t = await buildWebhookApp({ sendTest: sendTestToNobody });
  await t.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = t.app.server.address() as AddressInfo;
  env = { SIGNALPOST_URL: `http://127.0.0.1:${port}/`, SIGNALPOST_API_KEY: t.apiKey };
});
afterEach(() => t.app.close());

test('a sample is sent to every subscribed push endpoint', async () => {
  const wanted = await t.addWebhook({ label: 'CRM', event_types: ['deal.changed'] });
  await t.addWebhook({ label: 'Chat' });
  await t.call('POST', '/v1/webhooks', { mode: 'pull', event_types: ['deal.changed'] });
  const ended = await runInProcess(['trigger', 'deal.changed'], { env });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toMatch(/^deal\.changed to CRM: 2\d\d\n$/);
  expect(t.tests.map(({ endpoint, eventType }) => [endpoint.id, eventType])).toEqual([
    [wanted.id, 'deal.changed'],
  ]);
});

test('a sample can be sent to a single endpoint, subscribed or not', async () => {
  const { id } = await t.addWebhook({ label: 'Chat' });
  const ended = await runInProcess(['trigger', 'endpoint.paused', '--webhook', id], { env });
  expect(ended.stdout).toContain('endpoint.paused to Chat');
});

test.each([
  ['an unknown event', ['trigger', 'no.such'], 64, /Must be one of/],
  ['no endpoint that wants it', ['trigger', 'deal.changed'], 1, /No endpoint is subscribed/],
  ['an unknown endpoint', ['trigger', 'deal.changed', '--webhook', 'whk_x'], 1, /returned 404/],
])('%s is reported with a way to fix it', async (_, args, code, message) => {
  const ended = await runInProcess(args, { env });
  expect(ended.code).toBe(code);
  expect(ended.stderr).toMatch(message);
});
