import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { ERAS } from '../support/mcp.ts';
import { run } from './process.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

let t: TestApp;
let url: string;
beforeAll(async () => {
  t = await buildTestApp();
  url = await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => t.app.close());

test.each(ERAS)('signalpost mcp serves a client of %s over stdio like /mcp', async (era) => {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era === '2026-07-28' ? { pin: era } : 'legacy' } },
  );
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp'],
    env: {
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      SIGNALPOST_URL: url,
      SIGNALPOST_API_KEY: t.apiKey,
    },
    stderr: 'ignore',
  });
  await client.connect(transport);
  try {
    expect((await client.listTools()).tools).toHaveLength(14);
    const found = await client.callTool({ name: 'list_profiles', arguments: {} });
    expect(found.structuredContent).toMatchObject({ profiles: [{ name: 'Default' }] });
    const text = 'Which CRM do you recommend?\u2028We need one this month.';
    await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload: aPost({ text }) });
    const signals = await client.callTool({ name: 'search_signals', arguments: {} });
    expect(signals.structuredContent).toMatchObject({ signals: [{ untrusted_text: text }] });
    const missing = client.readResource({ uri: 'signalpost://lead/ä' });
    await expect(missing).rejects.toThrow();
  } finally {
    await client.close();
  }
});

test('without a key, it names the variable to set; with a refused key, every request fails with that error', async () => {
  const { code, stderr } = await run(['mcp'], { SIGNALPOST_URL: url });
  expect(code).toBe(78);
  expect(stderr).toContain('SIGNALPOST_API_KEY');
  const client = new Client({ name: 'test', version: '1' });
  const env = {
    PATH: process.env.PATH ?? '',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    SIGNALPOST_URL: url,
    SIGNALPOST_API_KEY: 'sp_live_wrong',
  };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp'],
    env,
    stderr: 'ignore',
  });
  await expect(client.connect(transport)).rejects.toThrow(/UNAUTHENTICATED/);
  await client.close();
});

test('it sends at most 64 messages at a time, and no line of more than 1 Mi characters', async () => {
  let [open, most] = [0, 0];
  const server = createServer(async (request, response) => {
    most = Math.max(most, ++open);
    await sleep(20);
    open--;
    response.end(await text(request));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, [MAIN, 'mcp'], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      SIGNALPOST_URL: `http://127.0.0.1:${port}`,
      SIGNALPOST_API_KEY: t.apiKey,
    },
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const line = (id: number, method = 'tools/list') => `${JSON.stringify({ jsonrpc: '2.0', method, id })}\n`;
  const long = [line(201, 'x'.repeat(2 ** 20)), `${'x'.repeat(2 ** 20 + 1)}\n`];
  child.stdin.end(`${Array.from({ length: 200 }, (_, id) => line(id)).join('')}${long.join('')}${line(200)}`);
  const [out, err] = await said;
  const answers = out
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each));
  const sent = answers.filter(({ error }) => error === undefined);
  expect(new Set(sent.map(({ id }) => id))).toEqual(new Set(Array.from({ length: 201 }, (_, id) => id)));
  const error = { code: -32_600, message: expect.stringContaining('was not sent') };
  expect(answers.filter((each) => 'error' in each)).toEqual([
    { jsonrpc: '2.0', id: 201, error },
    { jsonrpc: '2.0', id: null, error },
  ]);
  expect(err).toContain('was not sent');
  expect(most).toBeLessThanOrEqual(64);
});
