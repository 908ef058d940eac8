import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

/** Long enough for a faulty server to have sent what it must not. */
const QUIET_MS = 1_500;

/** A server with a tenant, its data folder, and a function that starts it again. */
async function startTenant() {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-restart-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const { api_key: key } = JSON.parse(
    await runCommand(
      ['tenant', 'create', '--name', 'Restart', '--email', 'r@example.com', '--plan', 'enterprise', '--json'],
      serverEnv(dataDir, port),
    ),
  );
  const start = async () => {
    const server = await startServerProcess(dataDir, port);
    onTestFinished(server.kill);
    return server;
  };
  return { key, start };
}

const urls = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `https://forum.example/${prefix}/${n}`);

const quiet = () => new Promise((resolve) => setTimeout(resolve, QUIET_MS));

test('SIGTERM completes attempts in flight and exits with 0, and nothing is sent twice', async () => {
  const { key, start } = await startTenant();
  const receiver = await startCountingReceiver((response) => setTimeout(() => response.end(), 100));
  let server = await start();
  const target = { url: `${receiver.url}/a`, rate_limit_per_minute: 1_000_000 };
  receiver.secrets.set('/a', (await call(server.url, key, '/v1/webhooks', target)).data.secret);
  const begun = receiver.afterMore(50);
  await postSignals(server.url, key, urls('drain', 200));
  await begun;
  expect(await server.terminate()).toBe(0);
  const before = receiver.total;
  expect(before).toBeLessThan(200);
  await quiet();
  expect(receiver.total).toBe(before);
  server = await start();
  await receiver.until(() => receiver.counts.size === 200);
  await quiet();
  expect(await server.terminate()).toBe(0);
  expect([receiver.counts.size, receiver.total, receiver.unexpected]).toEqual([200, 200, []]);
}, 60_000);

test.each(['terminate', 'kill'] as const)(
  'the throttle applies across a restart after %s',
  async (end) => {
    const { key, start } = await startTenant();
    const receiver = await startCountingReceiver();
    let server = await start();
    const target = { url: `${receiver.url}/a`, rate_limit_per_minute: 30 };
    receiver.secrets.set('/a', (await call(server.url, key, '/v1/webhooks', target)).data.secret);
    await postSignals(server.url, key, urls('throttle', 50));
    await receiver.until(() => receiver.total === 30);
    await server[end]();
    server = await start();
    await postSignals(server.url, key, urls('more', 5));
    await quiet();
    expect(receiver.total).toBe(30);
  },
  60_000,
);

test('the counts of consecutive failures and of attempts continue after a restart', async () => {
  const { key, start } = await startTenant();
  const receiver = await startCountingReceiver((response) => response.writeHead(500).end());
  let server = await start();
  const target = { url: `${receiver.url}/a`, retry_interval_seconds: 600 };
  const { data: endpoint } = await call(server.url, key, '/v1/webhooks', target);
  receiver.secrets.set('/a', endpoint.secret);
  await postSignals(server.url, key, urls('first', 12));
  const endpointNow = async () => (await call(server.url, key, `/v1/webhooks/${endpoint.id}`)).data;
  await expect.poll(async () => (await endpointNow()).consecutive_failures, { timeout: 10_000 }).toBe(12);
  await server.kill();

  server = await start();
  await postSignals(server.url, key, urls('second', 12));
  await expect.poll(async () => (await endpointNow()).status, { timeout: 10_000 }).toBe('paused');
  const paused = await endpointNow();
  expect(paused.paused_reason).toBe('failures');
  expect(paused.consecutive_failures).toBeGreaterThanOrEqual(20);
  const { data: deliveries } = await call(server.url, key, '/v1/deliveries?limit=100');
  const { data: one } = await call(server.url, key, `/v1/deliveries/${deliveries.at(-1).id}`);
  expect(one).toMatchObject({ status: 'held', attempts: [{ attempt: 1, response: { status: 500 } }] });
}, 60_000);
