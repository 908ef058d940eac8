import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  experimental_createMCPClient as createMCPClient,
  experimental_createMCPEventWebhook as createMCPEventWebhook,
  type Experimental_MCPEvent as McpEvent,
  type Experimental_MCPEventSubscription as McpEventSubscription,
} from '@ai-sdk/mcp';
import { expect, onTestFinished, test } from 'vitest';
import { postSignals } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const CONFORMANCE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';
/** The scenarios of the protocol; the others call tools of a fixture. */
const SCENARIOS = [
  'server-stateless',
  'tools-list',
  'resources-list',
  'prompts-list',
  'sep-2164-resource-not-found',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
  'caching',
  'http-header-validation',
];

async function startWithKey() {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-mcp-clients-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const args = ['tenant', 'create', '--name', 'Mcp', '--email', 'm@example.com', '--plan', 'pro', '--json'];
  const { api_key: key } = JSON.parse(await runCommand(args, serverEnv(dataDir, port)));
  const server = await startServerProcess(dataDir, port);
  onTestFinished(() => server.kill());
  return { key: String(key), url: server.url };
}

/** A proxy that adds the key, for a client that sends none. */
async function startProxy(url: string, key: string): Promise<string> {
  const proxy = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${key}` };
    const passed = forward(`${url}${asked.url}`, { method: asked.method, headers }, (came) => {
      answer.writeHead(came.statusCode ?? 502, came.headers);
      came.pipe(answer);
    });
    asked.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

/** The findings of the conformance suite for one scenario. */
async function checksOf(url: string, scenario: string): Promise<Check[]> {
  const args = ['server', '--url', url, '--scenario', scenario, '--spec-version', '2026-07-28', '--verbose'];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [CONFORMANCE, ...args], { maxBuffer: 64 * 1024 * 1024 }, (_, stdout) =>
      resolve(stdout),
    );
  });
  return JSON.parse(output.slice(output.indexOf('\n[') + 1, output.lastIndexOf('\n]') + 2));
}

test('the conformance suite of MCP passes in all scenarios of the protocol', async () => {
  const { url, key } = await startWithKey();
  const address = `${await startProxy(url, key)}/mcp`;
  const faults: string[] = [];
  for (const scenario of SCENARIOS) {
    const checks = await checksOf(address, scenario);
    expect(checks.filter(({ status }) => status === 'SUCCESS').length, scenario).toBeGreaterThan(0);
    for (const { id, status, errorMessage = '' } of checks) {
      const needsFixture = errorMessage.startsWith('Not testable: server does not list the diagnostic tool');
      if (status === 'FAILURE' && !needsFixture) faults.push(`${scenario} ${id}: ${errorMessage}`);
    }
  }
  expect(faults).toEqual([]);
});

test('the events client of the Vercel AI SDK subscribes, verifies a delivery, refreshes and unsubscribes', async () => {
  const { url, key } = await startWithKey();
  const kept = new Map<string, McpEventSubscription>();
  const store = {
    get: async (id: string) => kept.get(id),
    getById: async (id: string) => [...kept.values()].find((each) => each.id === id),
    set: async (subscription: McpEventSubscription) => void kept.set(subscription.key, subscription),
    update: async (id: string, patch: Partial<McpEventSubscription>) => {
      const known = kept.get(id);
      if (known !== undefined) kept.set(id, { ...known, ...patch });
    },
    delete: async (id: string) => void kept.delete(id),
  };
  const { promise: arrived, resolve } = Promise.withResolvers<McpEvent>();
  const webhook = createMCPEventWebhook({ store, onEvent: async ({ event }) => resolve(event) });
  const receiver = createServer((asked, answer) => {
    const parts: Buffer[] = [];
    asked.on('data', (part: Buffer) => parts.push(part));
    asked.on('end', async () => {
      const headers = Object.entries(asked.headers).map(
        ([name, value]) => [name, String(value)] as [string, string],
      );
      const body = Buffer.concat(parts);
      const address = `http://${asked.headers.host}${asked.url}`;
      const response = await webhook(new Request(address, { method: 'POST', headers, body }));
      answer.writeHead(response.status, Object.fromEntries(response.headers));
      answer.end(Buffer.from(await response.arrayBuffer()));
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });

  const client = await createMCPClient({
    transport: { type: 'http', url: `${url}/mcp`, headers: { authorization: `Bearer ${key}` } },
    experimental_events: { store },
  });
  onTestFinished(() => client.close());
  const events = client.experimental_events;
  expect((await events.list()).events.map(({ name }) => name)).toContain('signal.detected');
  const callback = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`;
  const { id } = await events.subscribe({
    name: 'signal.detected',
    delivery: { mode: 'webhook', url: callback, allowInsecureLocalhost: true },
  });
  await postSignals(url, key, ['https://forum.example/1']);
  expect(await arrived).toMatchObject({ name: 'signal.detected', data: { signal_id: expect.any(String) } });
  expect(await events.refresh({ id })).toMatchObject({ id });
  await events.unsubscribe({ id });
  expect(kept.size).toBe(0);
});
