import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createWeb } from '../../src/detection/web.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { endSubscriptions } from '../../src/webhooks/subscriptions.ts';
import { DOCUMENTS } from '../detection/harness.ts';
import { aPost, BASE_URL, bearer, buildTestApp, type TestApp } from '../support/app.ts';
import { cpuOf } from '../support/cpu-time.ts';
import { askMcp, connectMcp, echoChallenge } from '../support/mcp.ts';

const AUDIENCE = `${BASE_URL}/mcp`;
const LOOPBACK = [parseCidr('127.0.0.0/8') ?? expect.fail()];

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let t: TestApp;
beforeEach(async () => {
  issuer = await startIssuer();
  t = await openApp(issuer.url);
});
afterEach(() => t.app.close());

/** An app that accepts tokens of these issuers, and reads their keys as a server does. */
async function openApp(issuers: string, allow = '127.0.0.0/8') {
  const web = createWeb({
    clock: systemClock,
    baseUrl: BASE_URL,
    allowTargets: createAddressSet(LOOPBACK),
    documents: DOCUMENTS,
  });
  return buildTestApp({
    env: { MCP_AUTHORIZATION_SERVERS: issuers, WEBHOOK_ALLOW_TARGETS: allow },
    readDocument: (address, signal) =>
      web.read(address, { accept: 'application/json' }, { owner: '', signal, asked: 1 }),
    sendTest: echoChallenge,
  });
}

/** An authorization server on loopback, with the documents that resource servers read. */
async function startIssuer() {
  const keys = [await aKey('one')];
  const asked: string[] = [];
  const documents: Record<string, () => unknown> = {
    '/.well-known/openid-configuration': () => ({ issuer: url, jwks_uri: `${url}/keys` }),
    '/keys': () => ({ keys: keys.map(({ jwk }) => jwk) }),
  };
  const server = createServer(({ url: path = '' }, response) => {
    asked.push(path);
    const document = documents[path]?.();
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { url, keys, asked, documents, close };
}

async function aKey(kid: string, alg = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

/** A token as the issuer creates it; undefined claims are omitted. */
async function aToken(claims: Record<string, unknown> = {}, key = issuer.keys[0]): Promise<string> {
  if (key === undefined) throw new Error('The issuer has no key.');
  const seconds = Math.floor(t.clock.now() / 1_000);
  return new SignJWT({
    ...{
      iss: issuer.url,
      aud: AUDIENCE,
      sub: 'user-1',
      client_id: 'assistant',
      iat: seconds,
      exp: seconds + 600,
    },
    ...{ scope: 'openid signals:read leads:read', signalpost_tenant: t.tenant.id, ...claims },
  })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt' })
    .sign(key.privateKey);
}

const list = (token: string, app = t.app) =>
  app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { ...bearer(token), accept: 'application/json' },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  });

test('the metadata names the authorization servers, and a 401 the scopes to request', async () => {
  const metadata = await t.app.inject({ url: '/.well-known/oauth-protected-resource/mcp' });
  expect(metadata.json()).toMatchObject({ resource: AUDIENCE, authorization_servers: [issuer.url] });
  const { headers } = await t.app.inject({ method: 'POST', url: '/mcp', payload: {} });
  expect(headers['www-authenticate']).toMatch(/resource_metadata="[^"]+", scope="signals:read [^"]+"$/);
});

describe('a token of an authorization server', () => {
  test('acts for its account with its scopes, alongside API keys', async () => {
    const client = await connectMcp(t.app, bearer(await aToken()));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'search_signals',
      'get_signal',
      'list_leads',
      'get_lead',
      'get_digest',
    ]);
    await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload: aPost() });
    const found = await client.callTool({ name: 'search_signals', arguments: {} });
    expect(found.structuredContent).toMatchObject({ signals: [{ classification: expect.any(String) }] });
    expect((await list(t.apiKey)).statusCode).toBe(200);
  });

  test('of one client has its own rate limit, shared by all its tokens', async () => {
    const remaining = async (claims: object) =>
      Number((await list(await aToken({ ...claims }))).headers['ratelimit-remaining']);
    expect([
      await remaining({}),
      await remaining({ jti: '2' }),
      await remaining({ client_id: 'other' }),
    ]).toEqual([599, 598, 599]);
  });

  test('may list its scopes, name presets, or have none', async () => {
    const namesOf = async (claims: Record<string, unknown>) =>
      (await list(await aToken({ scope: undefined, ...claims }))).json().result.tools.length;
    expect(await namesOf({ scp: ['signals:read'] })).toBe(3);
    expect(await namesOf({ scope: 'read' })).toBeGreaterThan(9);
    expect(await namesOf({})).toBe(0);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['for another server', { aud: 'https://other.example.com/mcp' }, /"aud"/],
    ['for nobody', { aud: undefined }, /"aud"/],
    ['that is over', { exp: 1 }, /expired/],
    ['that has no end', { exp: undefined }, /"exp"/],
    ['that begins later', { nbf: 4_000_000_000 }, /"nbf"/],
    ['of nobody', { sub: undefined }, /"sub"/],
    ['without an account', { signalpost_tenant: undefined }, /"signalpost_tenant"/],
    ['of an unknown account', { signalpost_tenant: 'ten_none' }, /names no account/],
    ['of another issuer', { iss: 'https://evil.example.com' }, /not accepted/],
    ['with a scope that is no text', { scope: 5 }, /"scope"/],
    ['with a scope among others that is no text', { scp: ['signals:read', 5] }, /"scp"/],
  ])('%s is refused', async (_, claims, detail) => {
    const answer = await list(await aToken(claims));
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toMatchObject({ code: 'UNAUTHENTICATED', detail: expect.stringMatching(detail) });
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  test('is refused at once however many of its scopes are invalid: unknown ones cost more than twice as much', async () => {
    const costOf = async (scope: unknown, status: number) => {
      const token = await aToken({ scope: Array.from({ length: 500_000 }, () => scope) });
      const { allMs } = await cpuOf(async () => expect((await list(token)).statusCode).toBe(status));
      console.log(scope, allMs);
      return allMs;
    };
    await list(await aToken()); // reads the issuer's keys
    const ofUnknown = await costOf('a', 200);
    expect(await costOf(1, 401)).toBeLessThan(ofUnknown / 2);
  });

  test("is rejected with another issuer's signature, or none", async () => {
    const [header, payload] = (await aToken()).split('.');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const shared = await new SignJWT({ iss: issuer.url })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(Buffer.alloc(32));
    for (const token of [
      await aToken({}, await aKey('one')),
      unsigned,
      `${header}.${payload}.AAAA`,
      shared,
      'a.b.c',
      '..',
    ]) {
      const answer = await list(token);
      expect(answer.statusCode, token).toBe(401);
      expect(answer.json().detail).toMatch(/not valid|not accepted/);
    }
  });

  test('is valid for MCP only', async () => {
    const answer = await t.app.inject({ url: '/v1/me', headers: bearer(await aToken()) });
    expect(answer.statusCode).toBe(401);
  });
});

describe('keys of an authorization server', () => {
  const keysAsked = () => issuer.asked.filter((path) => path === '/keys').length;

  test('are read once for many tokens, and again for an unknown key', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, async () => list(await aToken())));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
    expect(issuer.asked).toEqual([
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/keys',
    ]);
    const next = await aKey('two', 'RS256');
    issuer.keys.push(next);
    // At most every 30 seconds: anyone can send tokens with unknown keys.
    expect((await list(await aToken({}, next))).statusCode).toBe(401);
    expect(keysAsked()).toBe(1);
    t.clock.advance(30_000);
    expect((await list(await aToken({}, next))).statusCode).toBe(200);
    expect(keysAsked()).toBe(2);
  });

  test('are no longer valid ten minutes after they are withdrawn', async () => {
    const [old] = issuer.keys;
    expect((await list(await aToken())).statusCode).toBe(200);
    issuer.keys.splice(0, 1, await aKey('two'));
    t.clock.advance(601_000);
    expect((await list(await aToken({}, old))).statusCode).toBe(401);
  });

  test('outlive an unreachable issuer; without any keys, callers are asked to retry', async () => {
    expect((await list(await aToken())).statusCode).toBe(200);
    issuer.close();
    t.clock.advance(601_000);
    expect((await list(await aToken())).statusCode).toBe(200);
    t.clock.advance(24 * 3_600_000);
    const away = await list(await aToken());
    expect(away.statusCode).toBe(503);
    expect(away.headers['retry-after']).toBe('30');
    expect(t.logLines.join('')).toContain('the keys of an authorization server could not be read');
    expect((await list(t.apiKey)).statusCode).toBe(200);
  });

  test.each<[string, () => unknown]>([
    [
      'metadata of another issuer',
      () => ({ issuer: 'https://other.example.com', jwks_uri: `${issuer.url}/keys` }),
    ],
    ['metadata without keys', () => ({ issuer: issuer.url })],
    ['keys at a private address', () => ({ issuer: issuer.url, jwks_uri: 'http://10.0.0.1/keys' })],
    ['keys behind a file', () => ({ issuer: issuer.url, jwks_uri: 'file:///etc/passwd' })],
    ['keys that are none', () => ({ issuer: issuer.url, jwks_uri: `${issuer.url}/none` })],
  ])('are not taken from %s', async (_, document) => {
    issuer.documents['/.well-known/openid-configuration'] = document;
    expect((await list(await aToken())).statusCode).toBe(503);
    expect((await list(await aToken())).statusCode).toBe(503);
    expect(issuer.asked.filter((path) => path.endsWith('openid-configuration'))).toHaveLength(1);
  });

  test.each<[string, object, number]>([
    ['all members that a key may have', { use: 'sig', key_ops: ['verify'], ext: true, x5c: ['MII'] }, 200],
    ['uses other than verification', { key_ops: ['encrypt'] }, 401],
    // Each is compared with all others for every token: 4 s for 40,000.
    [
      'more uses than there are',
      { key_ops: ['verify', ...Array.from({ length: 8 }, (_, n) => `use${n}`)] },
      401,
    ],
    ['a private part', { d: 'AAAA' }, 401],
    ['a point that is not on its curve', { x: 'AAAA' }, 401],
    ['a coordinate that is no text', { x: 5 }, 401],
    ['a coordinate of any length', { x: 'A'.repeat(101) }, 401],
  ])('with %s', async (_, members, status) => {
    issuer.documents['/keys'] = () => ({ keys: [null, {}, { ...issuer.keys[0]?.jwk, ...members }] });
    expect((await list(await aToken())).statusCode).toBe(status);
    expect(t.logLines.join('')).not.toContain('"level":50');
  });

  test('are at most a hundred: all are looked at for every token', async () => {
    const keys = Array.from({ length: 101 }, () => ({}));
    issuer.documents['/keys'] = () => ({ keys });
    expect((await list(await aToken())).statusCode).toBe(503);
  });

  test('whose metadata names a very long issuer: a part of it is logged', async () => {
    issuer.documents['/.well-known/openid-configuration'] = () => ({
      issuer: 'x'.repeat(9_000),
      jwks_uri: '',
    });
    expect((await list(await aToken())).statusCode).toBe(503);
    expect(t.logLines.join('')).not.toContain('x'.repeat(201));
  });

  test('are not read from a private address unless it is allowed', async () => {
    const own = await openApp(issuer.url, '10.0.0.0/8');
    expect((await list(await aToken(), own.app)).statusCode).toBe(503);
    expect(issuer.asked).toEqual([]);
    await own.app.close();
  });
});

test('a subscription created with a token belongs to its subject, survives renewed tokens, and ends with the last one', async () => {
  const subscribe = async (claims: Record<string, unknown>, ttlMs = 3_600_000) => {
    const client = await connectMcp(t.app, bearer(await aToken(claims)));
    const delivery = {
      mode: 'webhook',
      url: 'https://127.0.0.1:8443/x',
      secret: `whsec_${Buffer.alloc(24, 3).toString('base64')}`,
    };
    const params = { name: 'signal.detected', arguments: {}, delivery, ttlMs };
    return askMcp(client, 'events/subscribe', params);
  };
  const seconds = Math.floor(t.clock.now() / 1_000);
  const first = await subscribe({ exp: seconds + 300 });
  expect(Date.parse(first.refreshBefore ?? '')).toBe((seconds + 300) * 1_000);
  const renewed = await subscribe({ exp: seconds + 900, jti: 'next' });
  expect(renewed.id).toBe(first.id);
  expect((await subscribe({ sub: 'user-2' })).id).not.toBe(first.id);
  const ended = async (ms: number) => {
    t.clock.advance(ms);
    await endSubscriptions(t);
    return (await t.store.findSubscription(t.tenant.id, first.id ?? '')) === null;
  };
  expect(await ended(600_000)).toBe(false);
  expect(await ended(300_000)).toBe(true);
});
