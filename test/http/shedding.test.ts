import { connect } from 'node:net';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { addCompression } from '../../src/http/compression.ts';
import { addShedding, createLoadGate, LOAD_LIMITS } from '../../src/http/load.ts';
import { aPost, buildTestApp } from '../support/app.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** A server that takes two concurrent requests of a tenant, and whose store responds when told to. */
async function buildBusyApp() {
  const gate = Promise.withResolvers<void>();
  const t = await buildTestApp({
    loadLimits: { ...LOAD_LIMITS, least: 0, most: 4 },
    wrapStore: (store) => ({
      ...store,
      commitSignals: async (signals) => {
        await gate.promise;
        return store.commitSignals(signals);
      },
    }),
  });
  onTestFinished(() => t.app.close());
  const post = (n: number) =>
    t.app.inject({
      ...{ method: 'POST', url: '/v1/signals', headers: t.auth },
      payload: aPost({ external_id: `post-${n}` }),
    });
  return { t, post, goOn: gate.resolve };
}

test('over the limit /v1 returns 503 with Retry-After, and no admitted request is lost', async () => {
  const { t, post, goOn } = await buildBusyApp();
  const letIn = [post(1), post(2)];
  await expect.poll(async () => (await t.app.inject('/metrics')).body).toContain('requests_in_flight 2');
  const refused = await post(3);
  expect(refused.statusCode).toBe(503);
  expect(refused.headers).toMatchObject({
    'content-type': 'application/problem+json',
    'retry-after': '1',
    'x-api-version': 'v1',
    'ratelimit-limit': '600',
  });
  expect(refused.json()).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
  for (const path of ['/api/health', '/ready', '/metrics', '/'])
    expect([path, (await t.app.inject(path)).statusCode]).toEqual([path, 200]);
  goOn();
  expect((await Promise.all(letIn)).map(({ statusCode }) => statusCode)).toEqual([201, 201]);
  expect((await post(4)).statusCode).toBe(201);
  const { body } = await t.app.inject('/metrics');
  expect(body).toContain('signalpost_http_requests_in_flight 0');
  expect(body).toContain('signalpost_http_requests_shed_total{reason="requests"} 1');
});

test('a tenant whose clients do not read their large responses gets 503 until they have, others do not', async () => {
  const t = await buildTestApp({ loadLimits: { ...LOAD_LIMITS, least: 0, mostBytes: 2_000_000 } });
  onTestFinished(() => t.app.close());
  const { port } = new URL(await t.app.listen());
  const custom_fields = Object.fromEntries(
    Array.from({ length: 50 }, (_, n) => [`field ${n}`, 'x'.repeat(490)]),
  );
  for (let n = 0; n < 40; n++) {
    const payload = { email: `p${n}@acme.com`, custom_fields };
    await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
  }
  // More than the system takes for a client.
  const request = `GET /v1/leads?limit=100 HTTP/1.1\r\nhost: x\r\nauthorization: ${t.auth.authorization}\r\n\r\n`;
  const sockets = Array.from({ length: 3 }, () => {
    const socket = connect(Number(port));
    socket.write(request.repeat(20));
    return socket;
  });
  const status = async (headers = t.auth) =>
    (await t.app.inject({ url: '/v1/me', headers })).json().detail ?? 'ok';
  await expect.poll(() => status()).toContain('Too many large responses');
  expect(await status((await t.addTenant()).auth)).toBe('ok');
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => status()).toBe('ok');
});

test('responses are counted in bytes, as they are sent', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  const counted: number[] = [];
  const load = createLoadGate({ clock: createManualClock(), store: { waitMs: () => 0 } });
  addCompression(app);
  addShedding(app, {
    load: { ...load, answer: (_cost, bytes) => void counted.push(bytes) },
    ownerOf: () => 'ten_1',
  });
  const text = '漢'.repeat(30_000);
  app.get('/text', (_request, reply) => reply.type('text/plain; charset=utf-8').send(text));
  const plain = await app.inject('/text');
  expect([plain.body === text, plain.headers['content-length']]).toEqual([true, '90000']);
  await app.inject({ url: '/text', headers: { 'accept-encoding': 'gzip' } }); // a few hundred bytes
  expect((await app.inject({ method: 'HEAD', url: '/text' })).headers['content-length']).toBe('90000');
  expect(counted).toEqual([90_000]);
});

test('the dashboard shows a page that says so', async () => {
  const t = await buildTestApp({ loadLimits: { ...LOAD_LIMITS, least: 0, most: 0 } });
  onTestFinished(() => t.app.close());
  const answer = await t.app.inject('/dashboard/login');
  expect(answer.statusCode).toBe(503);
  expect(answer.headers).toMatchObject({
    'retry-after': '1',
    'content-type': expect.stringContaining('html'),
  });
});
