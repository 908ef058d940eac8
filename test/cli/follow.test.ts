import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type FeedEvent, type FeedSource, followFeed, forward } from '../../src/cli/listen.ts';
import { textOf } from '../../src/cli/request.ts';
import { verifyWebhook } from '../../src/client/client.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { generateSecret } from '../../src/webhooks/signature.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { startReceiver, status } from '../support/receiver.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';
import { start } from './process.ts';

let t: WebhookApp;
let source: FeedSource;
beforeEach(async () => {
  t = await buildWebhookApp();
  await t.app.listen({ host: '127.0.0.1', port: 0 });
  const answer = await t.call('POST', '/v1/webhooks', { mode: 'pull' });
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-follow-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  source = {
    baseUrl: `http://127.0.0.1:${(t.app.server.address() as AddressInfo).port}`,
    ...{ apiKey: t.apiKey, webhookId: answer.json().data.id, fromStart: true },
    placeFile: join(folder, 'deep/place'),
  };
});
afterEach(() => t.app.close());

const ports = { clock: systemClock, err: () => undefined };

/** Follows until this many events have been handled, up to the end of a page, or until `handle` throws. */
async function follow(
  count: number,
  handle: (event: FeedEvent) => void = () => undefined,
): Promise<string[]> {
  const ids: string[] = [];
  await followFeed(ports, source, {
    async handle(event) {
      handle(event);
      ids.push(event.id);
    },
    isStopping: () => ids.length >= count,
  });
  return ids;
}

test('a feed is followed from where the last run stopped', async () => {
  const first = await t.addDeliveries(3);
  expect(await follow(3)).toEqual(first);
  expect(readFileSync(source.placeFile, 'utf8').trim()).not.toBe('');
  const all = await t.addDeliveries(2);
  expect(await follow(2)).toEqual(all.slice(3));
});

test('events interrupted by a stop are handled again', async () => {
  const ids = await t.addDeliveries(3);
  const cut = follow(3, ({ id }) => {
    if (id === ids[1]) throw new Error('stopped');
  });
  await expect(cut).rejects.toThrow('stopped');
  expect(await follow(3)).toEqual(ids);
});

test("a wrong key ends it with the server's message", async () => {
  source.apiKey = 'sp_live_wrong';
  await expect(follow(1)).rejects.toThrow(/returned 401/);
});

test('an event is posted with a signature, and with the bytes that an endpoint would get', async () => {
  const receiver = await startReceiver(status(202));
  onTestFinished(() => receiver.close());
  await t.addDeliveries(1);
  const secret = generateSecret(systemRandom);
  let event: FeedEvent | null = null;
  await follow(1, (each) => {
    event = each;
  });
  if (event === null) throw new Error('nothing came');
  const terms = { url: `${receiver.url}/hook`, secret, isStopping: () => false, onFault: () => undefined };
  expect(await forward(systemClock, event, terms)).toBe(202);
  const [request] = receiver.requests;
  const { headers, body = '' } = request ?? {};
  const verified = verifyWebhook({ headers: headers ?? {}, body, secret });
  const { id, type, payload } = event as FeedEvent;
  expect(verified).toMatchObject({ id, type });
  expect({ ...verified.payload, signature: '' }).toEqual({ ...payload, signature: '' });
});

test.each([
  '<html>',
  'null',
  '{"data":[]}',
  '{"data":5,"pagination":{"next_cursor":"c"}}',
  '{"data":[null],"pagination":{"next_cursor":"c"}}',
  '{"data":[{"id":"a\\nb","type":"x","timestamp":"t","payload":{}}],"pagination":{"next_cursor":"c"}}',
  '{"data":[{"id":"a","type":"x","timestamp":"t"}],"pagination":{"next_cursor":"c"}}',
  '{"data":[],"pagination":{"next_cursor":5}}',
])('a response that is no page of a feed is reported as that: %s', async (text) => {
  const server = await startReceiver(status(200, {}, text));
  onTestFinished(() => server.close());
  source.baseUrl = server.url;
  await expect(follow(1)).rejects.toThrow(
    `${new URL(server.url).origin}: the response is not a page of a feed`,
  );
});

test('a server that returns empty pages without waiting is asked every 2 s', async () => {
  const page = '{"data":[],"pagination":{"next_cursor":"c","has_more":false},"truncated":false}';
  const server = await startReceiver(status(200, {}, page));
  onTestFinished(() => server.close());
  source.baseUrl = server.url;
  const clock = createManualClock();
  const isStopping = () => server.requests.length >= 3;
  let isOver = false;
  const followed = followFeed({ ...ports, clock }, source, { handle: async () => undefined, isStopping });
  void followed.then(() => {
    isOver = true;
  });
  await server.received(2);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(server.requests).toHaveLength(2);
  await expect.poll(() => isOver || clock.advance(2_000)).toBe(true);
});

test('while the server or the receiver is away, the command keeps running', async () => {
  const [event] = await t.addDeliveries(1);
  const receiver = await startReceiver(status(202));
  const { port } = new URL(receiver.url);
  await receiver.close();
  const args = ['listen', '--from', source.baseUrl, '--webhook', source.webhookId, '--from-start'];
  const file = join(dirname(source.placeFile), '..', 'place');
  await using running = start([...args, '--place', file, '--forward-to', receiver.url], {
    SIGNALPOST_API_KEY: t.apiKey,
  });
  await running.heard(/waiting for it/);
  const back = createServer((_request, response) => void response.end()).listen(Number(port), '127.0.0.1');
  onTestFinished(() => void back.close());
  await running.said(new RegExp(`${event} -> 200`));
});

test('chunks of a response are copied, not kept', async () => {
  async function* body() {
    const chunk = new Uint8Array(1);
    for (const byte of Buffer.from(`\ufeff${'Grüße '.repeat(10_000)}`)) {
      chunk[0] = byte;
      yield chunk;
    }
  }
  expect(await textOf(body())).toBe('Grüße '.repeat(10_000));
});

test('of an error, the beginning is shown', async () => {
  const server = createServer((_request, response) =>
    response.writeHead(403).end(JSON.stringify({ code: 'x'.repeat(10_000) })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  source.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const failed = await follow(1).catch((error: Error) => error.message);
  expect(failed).toMatch(/^The server returned 403: /);
  expect(String(failed).length).toBeLessThan(600);
});
