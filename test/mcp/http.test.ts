import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { SCOPES } from '../../src/model/key.ts';
import { aPost, BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { callTool, connectMcp } from '../support/mcp.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp();
});
afterAll(() => t.app.close());

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const ACCEPT = { accept: 'application/json, text/event-stream' };

function post(headers: Record<string, string>, payload: object = LIST) {
  return t.app.inject({ method: 'POST', url: '/mcp', headers: { ...ACCEPT, ...headers }, payload });
}

describe('without a valid key', () => {
  test('a 401 names the metadata of the resource, which is served', async () => {
    const metadata = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`;
    for (const headers of [{}, { authorization: 'Bearer sp_live_wrong' }]) {
      const answer = await post(headers);
      expect(answer.statusCode).toBe(401);
      expect(answer.headers['www-authenticate']).toBe(
        `Bearer realm="Signalpost", resource_metadata="${metadata}"`,
      );
      expect(answer.json()).toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    const document = await t.app.inject({ url: new URL(metadata).pathname });
    expect(document.json()).toMatchObject({
      resource: `${BASE_URL}/mcp`,
      bearer_methods_supported: ['header'],
      scopes_supported: SCOPES,
    });
  });
});

test.each(['GET', 'DELETE', 'PUT', 'PATCH'] as const)('%s is 405 with Allow', async (method) => {
  const answer = await t.app.inject({ method, url: '/mcp', headers: t.auth });
  expect(answer.statusCode).toBe(405);
  expect(answer.headers.allow).toMatch(/POST/);
  expect(answer.headers.allow).not.toMatch(/GET|DELETE/);
});

test.each([
  ['a Host that is not ours', { host: 'evil.example' }, 403],
  ['a Host that begins like ours', { host: 'signals.example.com.evil.example' }, 403],
  ['an Origin that is not ours', { host: 'signals.example.com', origin: 'https://evil.example' }, 403],
  ['an opaque Origin', { host: 'signals.example.com', origin: 'null' }, 403],
  ['our own Host and Origin', { host: 'signals.example.com', origin: BASE_URL }, 200],
  ['a loopback address', { host: '127.0.0.1:3000' }, 200],
  ['an address of the network', { host: '10.0.0.7:3000' }, 200],
])('%s', async (_, headers, status) => {
  expect((await post({ ...t.auth, ...headers })).statusCode).toBe(status);
});

test('a response as JSON contains the line separators of a post', async () => {
  const text = 'Looking for plumber scheduling software.\u2028Any recommendations?\u2029Thanks!';
  await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload: aPost({ text }) });
  const call = { ...LIST, method: 'tools/call', params: { name: 'search_signals', arguments: {} } };
  const answer = await post({ ...t.auth, accept: 'application/json' }, call);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(answer.json().result.structuredContent.signals).toMatchObject([{ untrusted_text: text }]);
});

test('a message has at most 2,000 values: the SDK describes each invalid one', async () => {
  const hello = (icons: unknown[]) => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'a', version: '1', icons },
    },
  });
  const refused = await post(t.auth, hello(Array(2_000).fill(1)));
  expect(refused.statusCode).toBe(400);
  expect(refused.json().detail).toContain('more than 2000 values: send fewer');
  expect((await post(t.auth, hello(Array(1_900).fill(1)))).statusCode).toBe(200);
});

test('a batch, a body that is not JSON-RPC and an unknown method are rejected without failures', async () => {
  for (const batch of [[], [LIST], [LIST, { ...LIST, id: 2 }]]) {
    const answer = await post({ ...t.auth, 'mcp-protocol-version': '2025-03-26' }, batch);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_600 } });
  }
  expect((await post(t.auth, { hello: 1 })).statusCode).toBe(400);
  const unknown = await post(t.auth, { jsonrpc: '2.0', id: 1, method: 'no/such' });
  expect(unknown.body).toContain('-32601');
  expect(t.logLines.filter((line) => line.includes('tool failed'))).toEqual([]);
});

test('a rejection is short, whatever the arguments', async () => {
  const wide = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`member_${n}`, 1]));
  for (const args of [wide, { ['a'.repeat(100_000)]: 1 }, { signal_id: 'a'.repeat(100_000) }]) {
    const params = { name: 'get_signal', arguments: args };
    const answer = await post(t.auth, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(answer.body).toContain('INVALID_REQUEST');
    expect(answer.body.length).toBeLessThan(5_000);
  }
});

test('a failure is logged, and its message is not sent to the client', async () => {
  const failing = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      storedPosition: () => Promise.reject(new Error('secret detail')),
      getSignal: () => Promise.reject(new Error('secret detail')),
    }),
  });
  const calls = [
    { method: 'events/poll', params: { name: 'signal.detected' } },
    { method: 'resources/read', params: { uri: 'signalpost://signal/sig_1' } },
    { method: 'tools/call', params: { name: 'get_signal', arguments: { signal_id: 'sig_1' } } },
  ];
  for (const message of calls) {
    const answer = await failing.app.inject({
      ...{ method: 'POST', url: '/mcp', headers: { ...ACCEPT, ...failing.auth } },
      payload: { jsonrpc: '2.0', id: 1, ...message },
    });
    expect(answer.body).toContain('-32603');
    expect(answer.body).not.toContain('secret detail');
  }
  expect(failing.logLines.filter((line) => line.includes('tool failed'))).toHaveLength(3);
  await failing.app.close();
});

describe('scopes', () => {
  test('a key lists and runs only the tools of its scopes', async () => {
    const { auth } = await t.addKey({ scopes: ['signals:read'] });
    const client = await connectMcp(t.app, auth);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['search_signals', 'get_signal', 'get_digest']);
    await expect(client.callTool({ name: 'list_leads', arguments: {} })).rejects.toThrow(/leads:read/);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ name }) => name)).toEqual(['signal']);
  });

  test('a key without scopes lists nothing', async () => {
    const { auth } = await t.addKey({ scopes: [] });
    const client = await connectMcp(t.app, auth);
    expect((await client.listTools()).tools).toEqual([]);
  });

  test('moving a lead also requires the scope of the pipeline', async () => {
    const lead = await t.app.inject({
      method: 'POST',
      url: '/v1/leads',
      headers: t.auth,
      payload: { email: 'moved@example.com' },
    });
    const { auth } = await t.addKey({ scopes: ['leads:write'] });
    const client = await connectMcp(t.app, auth);
    const args = { lead_id: lead.json().data.id, stage: 'won' };
    expect(await client.callTool({ name: 'update_lead', arguments: args })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('pipeline:write') }],
    });
  });
});

test("a request counts towards its key's rate limit, and a revoked key is rejected immediately", async () => {
  const { auth, id } = await t.addKey({ scopes: ['signals:read'], rateLimit: 2 });
  expect((await post(auth)).headers['ratelimit-remaining']).toBe('1');
  await post(auth);
  const limited = await post(auth);
  expect(limited.statusCode).toBe(429);
  expect(limited.headers['retry-after']).toMatch(/^\d+$/);
  const other = await t.addKey({ scopes: ['signals:read'] });
  await t.store.revokeKey(other.id, t.clock.now());
  expect((await post(other.auth)).statusCode).toBe(401);
  expect(id).toMatch(/^key_/);
});

test('calls that arrive together are handled in turns, so that others do not wait for all of them', async () => {
  let turn = 0;
  let counting = true;
  const turns: number[] = [];
  const own = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      pageProfiles: (...args) => {
        turns.push(turn);
        own.clock.advance(2); // longer than the calls of one turn
        return store.pageProfiles(...args);
      },
    }),
  });
  onTestFinished(() => own.app.close());
  const client = await connectMcp(own.app, own.auth);
  const count = () => {
    turn++;
    if (counting) setImmediate(count);
  };
  count();
  await Promise.all(Array.from({ length: 6 }, () => callTool(client, 'list_profiles')));
  counting = false;
  expect(new Set(turns).size).toBe(6);
});
