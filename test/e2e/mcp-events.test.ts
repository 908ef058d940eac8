import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { call, postSignals } from '../support/counting-receiver.ts';
import { type Answer, startReceiver, status } from '../support/receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const anything = z.looseObject({});

/**
 * Behaves like the client of a subscription: verifies, echoes challenges, and responds to events with a given status.
 */
const receiving =
  (answerOf: (event: { eventId: string }) => number): Answer =>
  (response, request) => {
    const message = new Webhook(SECRET).verify(request.body, request.headers as Record<string, string>) as {
      type?: string;
      challenge: string;
      eventId: string;
    };
    if (message.type === 'verification') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ challenge: message.challenge }));
    } else {
      response.writeHead(answerOf(message)).end();
    }
  };

test('an MCP client subscribes, gets verified events across kill -9, renews, and ends its subscription', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-mcp-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const args = ['tenant', 'create', '--name', 'Mcp', '--email', 'm@example.com', '--plan', 'pro', '--json'];
  const { api_key: key } = JSON.parse(await runCommand(args, serverEnv(dataDir, port)));
  let server = await startServerProcess(dataDir, port);
  onTestFinished(() => server.kill());
  let code = 200;
  const receiver = await startReceiver(receiving(() => code));
  onTestFinished(() => receiver.close());

  const connect = async () => {
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
    onTestFinished(() => client.close());
    return client;
  };
  const ask = async (client: Client, method: string, params: object) =>
    (await client.request({ method, params } as never, anything as never)) as Record<string, string>;
  const subscription = {
    name: 'signal.detected',
    arguments: {},
    delivery: { mode: 'webhook', url: `${receiver.url}/mcp`, secret: SECRET },
  };

  let client = await connect();
  expect(await ask(client, 'events/list', {})).toMatchObject({ events: expect.any(Array) });
  const { id } = await ask(client, 'events/subscribe', subscription);
  await postSignals(server.url, key, ['https://forum.example/1']);
  await receiver.received(2);
  const [, first] = receiver.requests;
  expect(first?.headers).toMatchObject({
    'x-mcp-subscription-id': id,
    'webhook-id': JSON.parse(first?.body ?? '').eventId,
    'content-type': 'application/json',
  });
  expect(first?.headers).not.toHaveProperty('x-service-signature');

  await server.kill();
  server = await startServerProcess(dataDir, port);
  client = await connect();
  expect(await ask(client, 'events/subscribe', subscription)).toMatchObject({ id });
  const isChallenge = ({ body }: { body: string }) => body.includes('"verification"');
  expect(receiver.requests.filter(isChallenge)).toHaveLength(1);
  // Events in flight when the server died may arrive twice, with the same ID.
  const ids = () => new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size;
  const untilIds = async (count: number) => {
    for (let tries = 0; tries < 100 && ids() < count; tries++)
      await receiver.received(receiver.requests.length + 1);
  };

  // An event that is too large for the client is not retried; the subscription continues.
  code = 413;
  await postSignals(server.url, key, ['https://forum.example/2']);
  await untilIds(3);
  code = 200;
  await postSignals(server.url, key, ['https://forum.example/3']);
  await untilIds(4);
  const log = await call(server.url, key, '/v1/deliveries');
  const discarded = log.data.filter(({ status: state }: { status: string }) => state === 'discarded');
  expect(discarded).toMatchObject([{ attempt_count: 1 }]);

  await ask(client, 'events/unsubscribe', { ...subscription, delivery: { url: `${receiver.url}/mcp` } });
  receiver.answer = status(500);
  await postSignals(server.url, key, ['https://forum.example/4']);
  const after = await call(server.url, key, '/v1/deliveries');
  expect(after.data).toHaveLength(3);
});
