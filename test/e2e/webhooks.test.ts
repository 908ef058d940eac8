import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../cli/process.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import {
  freePort,
  runCommand,
  type ServerProcess,
  serverEnv,
  startServerProcess,
} from '../support/server-process.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { anotherPost } from '../support/webhooks.ts';

const PATIENCE = { timeout: 20_000, interval: 50 };

let folder: ReturnType<typeof temporaryFolder>;
let smtp: SmtpServer;
let server: ServerProcess;
let receiver: Receiver;
let apiKey: string;
let webhook: { id: string; secret: string };
let posted = 0;

beforeAll(async () => {
  folder = temporaryFolder();
  smtp = await startSmtpServer();
  receiver = await startReceiver();
  const port = await freePort();
  const mail = { SMTP_URL: smtp.url, MAIL_FROM: 'post@signals.example.com' };
  server = await startServerProcess(folder.path, port, mail);
  const create = ['tenant', 'create', '--name', 'Acme', '--email', 'owner@example.com', '--json'];
  apiKey = JSON.parse(await runCommand(create, serverEnv(folder.path, port))).api_key;
  webhook = await call('POST', '/v1/webhooks', { url: `${receiver.url}/hook`, label: 'CRM' });
}, 40_000);

afterAll(async () => {
  expect(await server.terminate()).toBe(0);
  await receiver.close();
  await smtp[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The response of the API to a request that must succeed. */
async function call(method: string, path: string, body?: object) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: responses of any shape, read by later steps
  const content = (await answer.json()) as { data: any };
  if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(content)}`);
  return content.data;
}

async function post(count: number): Promise<void> {
  const signals = Array.from({ length: count }, () => anotherPost(posted++));
  await call('POST', '/v1/signals/batch', { signals });
}

const endpoint = () => call('GET', `/v1/webhooks/${webhook.id}`);
const withStatus = async (name: string) =>
  (await call('GET', `/v1/deliveries?status=${name}&limit=100`)).length;

test('a test delivery arrives with the signature shown in advance', async () => {
  const expected = await call('GET', `/v1/webhooks/${webhook.id}/test`);
  const result = await call('POST', `/v1/webhooks/${webhook.id}/test`);
  expect(result).toMatchObject({
    success: true,
    response: { status: 200 },
    request: { body: expected.body },
  });
  const [arrived] = receiver.requests;
  expect(arrived?.body).toBe(expected.body);
  expect(arrived?.headers['x-service-signature']).toBe(expected.signature);
});

test('a paused endpoint gets only test deliveries, and everything else after it is resumed', async () => {
  await call('POST', `/v1/webhooks/${webhook.id}/pause`);
  await post(3);
  expect(await withStatus('held')).toBe(3);
  expect((await call('POST', `/v1/webhooks/${webhook.id}/test`)).success).toBe(true);
  expect(receiver.requests).toHaveLength(2);
  await call('POST', `/v1/webhooks/${webhook.id}/resume`);
  await receiver.received(5);
  await expect.poll(() => withStatus('delivered'), PATIENCE).toBe(3);
});

test('attempts after regenerating the secret are signed with the new one, not with the old one', async () => {
  const { secret } = await call('POST', `/v1/webhooks/${webhook.id}/secret`);
  await post(1);
  await receiver.received(6);
  const { body, headers } = receiver.requests[5] ?? { body: '', headers: {} };
  const signed = headers as Record<string, string>;
  expect(new Webhook(secret).verify(body, signed)).toMatchObject({ signal_type: 'intent_post' });
  expect(() => new Webhook(webhook.secret).verify(body, signed)).toThrow();
  webhook = { ...webhook, secret };
});

test('after ten consecutive failures the owner gets mail, after twenty the endpoint is paused, and nothing is lost', async () => {
  receiver.answer = status(500);
  await post(20);
  await expect.poll(async () => (await endpoint()).status, PATIENCE).toBe('paused');
  expect(await endpoint()).toMatchObject({ paused_reason: 'failures' });
  await expect.poll(() => withStatus('held'), PATIENCE).toBe(20);
  await expect.poll(() => smtp.received.length, PATIENCE).toBe(2);
  for (const mail of smtp.received) {
    expect(mail).toMatchObject({ from: 'post@signals.example.com', to: ['owner@example.com'] });
  }
  expect(smtp.received.map(({ source }) => /^Subject: (.+?)\r?$/m.exec(source)?.[1])).toEqual([
    'Webhook failing: CRM',
    'Webhook paused: CRM',
  ]);

  receiver.answer = status(200);
  expect(await call('POST', `/v1/webhooks/${webhook.id}/resume`)).toMatchObject({
    status: 'active',
    consecutive_failures: 0,
  });
  await expect.poll(() => withStatus('delivered'), PATIENCE).toBe(24);
}, 60_000);

test('the log of a delivery shows the exact bytes that arrived, and it can be replayed under its ID', async () => {
  const [row] = await call('GET', '/v1/deliveries?status=delivered&limit=1');
  const log = await call('GET', `/v1/deliveries/${row.id}`);
  const arrivals = () => receiver.requests.filter((one) => one.headers['webhook-id'] === row.id);
  expect(log.attempts.map((one: { request: { body: string } }) => one.request.body)).toEqual(
    arrivals().map((one) => one.body),
  );
  expect(arrivals()[0]?.headers).toMatchObject(log.attempts[0].request.headers);
  const count = receiver.requests.length;
  await call('POST', `/v1/deliveries/${row.id}/replay`);
  await receiver.received(count + 1);
  const again = arrivals().at(-1);
  expect(Number(again?.headers['x-service-attempt'])).toBe(log.attempts.length + 1);
});
