import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
