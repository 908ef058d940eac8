import { afterEach, beforeEach, expect, test } from 'vitest';
import { keyResourceSchema, SCOPES } from '../../src/model/key.ts';
import { bearer, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
function call(method: Method, url: string, payload?: object, headers: Record<string, string> = t.auth) {
  return t.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
}

async function make(payload: object = { name: 'Reader', preset: 'read' }) {
  return (await call('POST', '/v1/keys', payload)).json().data;
}

test('a new key works, and its secret is shown only in the response that creates it', async () => {
  const answer = await call('POST', '/v1/keys', {
    name: ' CI ',
    scopes: ['leads:write', 'signals:read', 'leads:write'],
    rate_limit: 5,
    expires_at: '2026-02-01T00:00:00+01:00',
  });
  expect(answer.statusCode).toBe(201);
  const { api_key: apiKey, ...key } = answer.json().data;
  expect(apiKey).toMatch(/^sp_live_[0-9A-Za-z]{36}$/);
  expect(key).toEqual({
    id: expect.stringMatching(/^key_/),
    name: 'CI',
    scopes: ['signals:read', 'leads:write'],
    rate_limit: 5,
    expires_at: '2026-01-31T23:00:00.000Z',
    last_used_at: null,
    revoked_at: null,
    last4: apiKey.slice(-4),
  });
  expect(answer.headers.location).toBe(`https://signals.example.com/v1/keys/${key.id}`);

  const me = await call('GET', '/v1/me', undefined, bearer(apiKey));
  expect(me.json().data).toMatchObject({ key: { id: key.id }, limits: { rate_limit: 5 } });
  await t.store.probe(); // waits for the write of the last use, which no response waits for
  const one = await call('GET', `/v1/keys/${key.id}`);
  expect(one.json().data).toEqual({ ...key, last_used_at: '2026-01-01T00:00:00.000Z' });
  const list = await call('GET', '/v1/keys');
  expect(list.json().data.map(keyResourceSchema.parse)).toHaveLength(2);
  expect(one.body + list.body).not.toContain(apiKey);
});

test.each([
  ['preset', { preset: 'read' }, SCOPES.filter((scope) => scope.endsWith(':read'))],
  ['scopes', { scopes: 'write' }, SCOPES.filter((scope) => !scope.startsWith('keys:'))],
  ['a list', { scopes: ['admin'] }, SCOPES],
  [
    'a list with more',
    { scopes: ['read', 'leads:write'] },
    expect.arrayContaining(['leads:write', 'keys:read']),
  ],
])('scopes can be given as a preset in %s', async (_, given, scopes) => {
  const key = await make({ name: 'x', ...given });
  expect(key).toMatchObject({ scopes, rate_limit: 600, expires_at: null });
});

test.each<[object, string[]]>([
  [{}, ['/name', '/scopes']],
  [{ name: '', scopes: ['nope'] }, ['/name', '/scopes/0']],
  [{ name: '', preset: 'nope' }, ['/name', '/preset']],
  [{ name: 'x' }, ['/scopes']],
  [{ name: 'x', preset: 'read', scopes: ['leads:read'] }, ['/scopes']],
  [{ name: 'x', scopes: [] }, ['/scopes']],
  [{ name: 'x', scopes: ['leads:admin'] }, ['/scopes/0']],
  [{ name: 'x', preset: 'all' }, ['/preset']],
  [{ name: '  ', preset: 'read' }, ['/name']],
  [{ name: 'x', preset: 'read', rate_limit: 0 }, ['/rate_limit']],
  [{ name: 'x', preset: 'read', rate_limit: 1.5 }, ['/rate_limit']],
  [{ name: 'x', preset: 'read', expires_at: '2026-02-01' }, ['/expires_at']],
  [{ name: 'x', preset: 'read', expires_at: '2025-12-31T23:59:59Z' }, ['/expires_at']],
  [{ name: 'x', preset: 'read', id: 'key_1' }, ['/id']],
])('%j is rejected with its pointer', async (payload, pointers) => {
  const answer = await call('POST', '/v1/keys', payload);
  expect(answer.statusCode).toBe(400);
  expect(answer.json().code).toBe('INVALID_REQUEST');
  expect(answer.json().errors.map((e: { pointer: string }) => e.pointer)).toEqual(pointers);
});

test('a key cannot create or widen a key beyond its own permissions', async () => {
  const { auth, id } = await t.addKey({ scopes: ['keys:write', 'leads:write'] });
  const made = await call('POST', '/v1/keys', { name: 'x', scopes: ['leads:read', 'keys:read'] }, auth);
  expect(made.statusCode).toBe(201);
  const refused = await call('POST', '/v1/keys', { name: 'x', preset: 'write' }, auth);
  expect(refused.statusCode).toBe(403);
  expect(refused.json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE', required_scope: 'signals:read' });
  const itself = await call('PATCH', `/v1/keys/${id}`, { scopes: 'admin' }, auth);
  expect(itself.json().code).toBe('INSUFFICIENT_SCOPE');
  expect((await call('GET', `/v1/keys/${id}`)).json().data.scopes).toEqual(['keys:write', 'leads:write']);
});

test.each<['PATCH' | 'DELETE', object | undefined]>([
  ['DELETE', undefined],
  ['PATCH', { scopes: ['keys:read'] }],
  ['PATCH', { expires_at: '2026-01-01T00:00:01Z' }],
  ['PATCH', { rate_limit: 1 }],
])('a key cannot restrict a more powerful key: %s %j', async (method, payload) => {
  const { auth } = await t.addKey({ scopes: ['keys:write', 'leads:write'] });
  const admin = (await call('GET', '/v1/me')).json().data.key;
  const before = (await call('GET', `/v1/keys/${admin.id}`)).json().data;
  const answer = await call(method, `/v1/keys/${admin.id}`, payload, auth);
  expect(answer.statusCode).toBe(403);
  expect(answer.json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE', required_scope: 'signals:read' });
  expect((await call('GET', `/v1/keys/${admin.id}`)).json().data).toEqual({
    ...before,
    last_used_at: expect.any(String),
  });

  const equal = await make({ name: 'x', scopes: ['keys:read', 'leads:read'] });
  const allowed = await call(method, `/v1/keys/${equal.id}`, payload, auth);
  expect([200, 204]).toContain(allowed.statusCode);
});

test('name, scopes, limit and expiry change alone or together, effective from the next request', async () => {
  const { api_key: apiKey, ...key } = await make();
  const { api_key: _, ...limited } = { ...key, api_key: '', rate_limit: 2 };
  expect((await call('PATCH', `/v1/keys/${key.id}`, { rate_limit: 2 })).json().data).toEqual(limited);
  const me = () => call('GET', '/v1/me', undefined, bearer(apiKey));
  expect((await me()).headers['ratelimit-limit']).toBe('2');
  const change = { name: 'Renamed', scopes: ['leads:read'], expires_at: '2026-01-01T00:01:00.000Z' };
  const patched = await call('PATCH', `/v1/keys/${key.id}`, change);
  expect(patched.json().data).toMatchObject({ ...change, rate_limit: 2, last4: key.last4 });
  t.clock.advance(60_000);
  expect((await me()).statusCode).toBe(401);
  expect((await call('PATCH', `/v1/keys/${key.id}`, { expires_at: null })).json().data.expires_at).toBeNull();
  expect((await me()).statusCode).toBe(200);
  expect((await call('PATCH', `/v1/keys/${key.id}`, {})).statusCode).toBe(200);
});

test('a revoked key is rejected immediately, stays listed, and cannot be changed', async () => {
  const { api_key: apiKey, id } = await make();
  const answer = await call('DELETE', `/v1/keys/${id}`);
  expect([answer.statusCode, answer.body]).toEqual([204, '']);
  expect((await call('GET', '/v1/me', undefined, bearer(apiKey))).statusCode).toBe(401);
  t.clock.advance(5_000);
  expect((await call('DELETE', `/v1/keys/${id}`)).statusCode).toBe(204);
  expect((await call('GET', `/v1/keys/${id}`)).json().data.revoked_at).toBe('2026-01-01T00:00:00.000Z');
  const changed = await call('PATCH', `/v1/keys/${id}`, { name: 'back' });
  expect([changed.statusCode, changed.json().code]).toEqual([409, 'CONFLICT']);
});

test('a key can revoke itself', async () => {
  const { auth, id } = await t.addKey({ scopes: ['keys:write'] });
  expect((await call('DELETE', `/v1/keys/${id}`, undefined, auth)).statusCode).toBe(204);
  expect((await call('GET', '/v1/keys', undefined, auth)).statusCode).toBe(401);
});

test('the list is paginated and shows each key once while others are created', async () => {
  const ids = [(await call('GET', '/v1/keys')).json().data[0].id];
  for (let i = 0; i < 4; i++) ids.push((await make()).id); // all within one millisecond
  const seen: string[] = [];
  let cursor = '';
  do {
    const { data, pagination } = (await call('GET', `/v1/keys?limit=2${cursor}`)).json();
    seen.push(...data.map((key: { id: string }) => key.id));
    cursor = pagination.next_cursor === null ? '' : `&cursor=${pagination.next_cursor}`;
    t.clock.advance(1);
    if (seen.length < 5) await make();
  } while (cursor !== '');
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toEqual(expect.arrayContaining(ids));
});

test('keys require keys:read or keys:write and are invisible to other tenants', async () => {
  const { id } = await make();
  const { auth: reader } = await t.addKey({ scopes: ['keys:read'] });
  const { auth: none } = await t.addKey({ scopes: ['leads:write'] });
  const { auth: other } = await t.addTenant();
  const body = { name: 'x' };
  expect((await call('GET', '/v1/keys', undefined, none)).json()).toMatchObject({
    code: 'INSUFFICIENT_SCOPE',
    required_scope: 'keys:read',
  });
  for (const [method, payload] of [
    ['PATCH', body],
    ['DELETE', undefined],
  ] as const) {
    expect((await call(method, `/v1/keys/${id}`, payload, reader)).statusCode).toBe(403);
    expect((await call(method, `/v1/keys/${id}`, payload, other)).json().code).toBe('NOT_FOUND');
  }
  expect((await call('GET', `/v1/keys/${id}`, undefined, other)).json().code).toBe('NOT_FOUND');
  expect((await call('GET', '/v1/keys/key_unknown')).json().code).toBe('NOT_FOUND');
  expect((await call('GET', `/v1/keys/${id}`, undefined, reader)).statusCode).toBe(200);
});
