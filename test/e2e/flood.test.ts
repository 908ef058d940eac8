import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createTenant } from '../../src/accounts/tenants.ts';
import { loadConfig } from '../../src/config.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { openRuntime } from '../../src/runtime.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { temporaryFolder } from '../cli/process.ts';
import { slownessOfMachine } from '../support/cpu-time.ts';
import { freePort, serverEnv, startServerProcess } from '../support/server-process.ts';

const DELIVERIES = 100_000;
const ENDPOINTS = 50;
/**
 * The increase over memory when it starts to listen. The garbage of startup makes that differ by 30 MiB between runs,
 * and the increase by 14, up to 52.
 */
const MOST_GROWTH = 75 * 1024 * 1024;
const MOST_P99_MS = 200;
const ASK_EVERY_MS = 150; // within a key's limit of 600 per minute

test('a server that starts with 100,000 deliveries due keeps its memory and its API quick', async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const port = await freePort();
  const env = serverEnv(folder.path, port);
  const receiver = await startPlainReceiver();
  const apiKey = await queueUp(env, receiver.url);

  const server = await startServerProcess(folder.path, port);
  onTestFinished(server.kill);
  const atStart = server.residentBytes();
  let mostBytes = atStart;
  const times: number[] = [];
  while (receiver.received() < DELIVERIES) {
    const started = performance.now();
    const response = await fetch(`${server.url}/v1/signals?limit=20`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    await response.text();
    expect(response.status).toBe(200);
    times.push(performance.now() - started);
    mostBytes = Math.max(mostBytes, server.residentBytes());
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
  times.sort((a, b) => a - b);
  expect(mostBytes - atStart).toBeLessThan(MOST_GROWTH);
  expect(times[Math.floor(times.length * 0.99) - 1]).toBeLessThan(MOST_P99_MS * slownessOfMachine());
  expect(await server.terminate()).toBe(0);
  expect(receiver.received()).toBe(DELIVERIES); // no duplicates, because nothing was interrupted
}, 180_000);

/** Accepts and counts all requests. */
async function startPlainReceiver() {
  let received = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      received++;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, received: () => received };
}

/** Queues 2,000 posts for 50 endpoints each, as after a long outage; returns a key of their tenant. */
async function queueUp(env: NodeJS.ProcessEnv, url: string): Promise<string> {
  const runtime = await openRuntime(loadConfig(env), { writerThread: true });
  const deps = { ...runtime, baseUrl: runtime.config.baseUrl };
  const account = { name: 'Flood', email: 'flood@example.com', plan: 'enterprise' } as const;
  const { tenant, apiKey } = await createTenant(deps, account);
  for (let n = 0; n < ENDPOINTS; n++) {
    const input = webhookInputSchema.parse({ url: `${url}/${n}`, rate_limit_per_minute: 10_000 });
    await createEndpoint(deps, tenant, input);
  }
  const posts = Array.from({ length: DELIVERIES / ENDPOINTS }, (_, n) => ({
    platform: { name: 'forum', post_url: `https://forum.example/t/${n}` },
    text: `We need a new plumber in street ${n}. ${'The old one loses jobs and nobody answers. '.repeat(12)}`,
  }));
  for (let i = 0; i < posts.length; i += 100) await observePosts(deps, tenant.id, posts.slice(i, i + 100));
  await runtime.close();
  return apiKey;
}
