import { afterEach, beforeEach, expect, test } from 'vitest';
import { sourceSchema } from '../../src/model/source.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { aRun } from '../support/sources.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

type Body = Record<string, unknown>;
const FEED = { kind: 'rss', name: 'HVAC forum', url: 'https://feeds.example.com/hvac.xml' };

function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: Body, headers = t.auth) {
  return t.app.inject({ method, url: `/v1/sources${path}`, headers, ...(payload && { payload }) });
}

async function created(payload: Body = FEED): Promise<string> {
  const answer = await call('POST', '', payload);
  expect(answer.statusCode).toBe(201);
  return answer.json().data.id;
}

const read = async (id: string) => (await call('GET', `/${id}`)).json().data;

test('a new source is active and due immediately, with its URL in Location', async () => {
  const answer = await call('POST', '', FEED);
  expect(answer.statusCode).toBe(201);
  const { data } = answer.json();
  expect(sourceSchema.parse(data)).toEqual(data);
  expect(data).toEqual({
    id: expect.stringMatching(/^src_/),
    kind: 'rss',
    name: 'HVAC forum',
    url: 'https://feeds.example.com/hvac.xml',
    query: null,
    site: null,
    tagged: null,
    board: null,
    tag: null,
    subreddit: null,
    client_id: null,
    secrets: [],
    icp_profile_ids: [],
    interval_seconds: 900,
    max_age_days: 7,
    status: 'active',
    last_run_at: null,
    last_success_at: null,
    next_poll_at: '2026-01-01T00:00:00.000Z',
    last_error: null,
    failing_since: null,
    quota: null,
    items_seen: 0,
    items_matched: 0,
    items_relevant: 0,
    signals_made: 0,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  });
  expect(answer.headers.location).toBe(`https://signals.example.com/v1/sources/${data.id}`);
  expect(await read(data.id)).toEqual(data);
});

test.each<[string, Body, Body]>([
  ['Hacker News', { kind: 'hackernews', query: 'crm' }, { query: 'crm' }],
  [
    'Stack Exchange',
    { kind: 'stackexchange', site: 'SoftwareRecs', tagged: ['CRM'] },
    { site: 'softwarerecs', tagged: ['crm'] },
  ],
  ['Greenhouse', { kind: 'greenhouse', board: 'acme' }, { board: 'acme' }],
  ['Lever', { kind: 'lever', board: 'acme' }, { board: 'acme' }],
  ['Ashby', { kind: 'ashby', board: 'Acme.Inc' }, { board: 'Acme.Inc' }],
  [
    'a feed inside the exempt addresses',
    { kind: 'rss', url: 'http://127.0.0.1:8080/feed#x' },
    { url: 'http://127.0.0.1:8080/feed' },
  ],
])('a source can be %s', async (_, settings, shown) => {
  const answer = await call('POST', '', { name: 'A', ...settings });
  expect(answer.statusCode).toBe(201);
  expect(answer.json().data).toMatchObject(shown);
});

test.each<[string, Body, string]>([
  ['no kind', { name: 'A', url: FEED.url }, '/kind'],
  ['an unknown kind', { ...FEED, kind: 'twitter' }, '/kind'],
  ['no name', { ...FEED, name: ' ' }, '/name'],
  ['a feed without its address', { kind: 'rss', name: 'A' }, '/url'],
  ['a search without words', { kind: 'hackernews', name: 'A' }, '/query'],
  ['a whole site', { kind: 'stackexchange', name: 'A', site: 'superuser' }, '/tagged'],
  ['a setting of another kind', { ...FEED, query: 'crm' }, '/query'],
  ['an address of another protocol', { ...FEED, url: 'ftp://example.com/feed' }, '/url'],
  ['a private address', { ...FEED, url: 'http://10.0.0.1/feed' }, '/url'],
  ['a private address in disguise', { ...FEED, url: 'http://0x0a000001/feed' }, '/url'],
  ['a name of our own network', { ...FEED, url: 'http://metadata.internal/feed' }, '/url'],
  ['a password in the address', { ...FEED, url: 'https://me:secret@example.com/feed' }, '/url'],
  ['a port that no site uses', { ...FEED, url: 'https://example.com:22/feed' }, '/url'],
  ['a board that is a path', { kind: 'lever', name: 'A', board: '../x' }, '/board'],
  ['too short an interval', { ...FEED, interval_seconds: 59 }, '/interval_seconds'],
  ['too long an interval', { ...FEED, interval_seconds: 86_401 }, '/interval_seconds'],
  ['an unknown profile', { ...FEED, icp_profile_ids: ['icp_nobody'] }, '/icp_profile_ids/0'],
  ['a mistyped member', { ...FEED, intervall_seconds: 900 }, '/intervall_seconds'],
])('%s is rejected with its pointer', async (_, payload, pointer) => {
  const answer = await call('POST', '', payload);
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer }] });
  expect((await call('GET', '')).json().data).toEqual([]);
});

test('names are unique regardless of case', async () => {
  await created();
  const again = await call('POST', '', { ...FEED, name: 'hvac FORUM' });
  expect(again.statusCode).toBe(409);
  expect(again.json().code).toBe('CONFLICT');
  const other = await created({ ...FEED, name: 'Other' });
  expect((await call('PATCH', `/${other}`, { name: 'HVAC forum' })).statusCode).toBe(409);
});

test('sources are listed oldest first and paginated', async () => {
  const ids = [];
  for (const name of ['A', 'B', 'C']) {
    ids.push(await created({ ...FEED, name }));
    t.clock.advance(1);
  }
  const first = (await call('GET', '?limit=2')).json();
  expect(first.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
  expect(first.pagination).toMatchObject({ has_more: true, limit: 2 });
  const second = (await call('GET', `?limit=2&cursor=${first.pagination.next_cursor}`)).json();
  expect(second.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2));
  expect(second.pagination.has_more).toBe(false);
  const { auth } = await t.addTenant();
  const stolen = await call('GET', `?cursor=${first.pagination.next_cursor}`, undefined, auth);
  expect(stolen.json().code).toBe('INVALID_CURSOR');
});

test('a patch changes only the members it contains', async () => {
  const id = await created();
  const before = await read(id);
  const [profile] = await t.store.listProfiles(t.tenant.id);
  t.clock.advance(1_000);
  const patch = { name: 'Renamed', icp_profile_ids: [profile?.id], interval_seconds: 3_600 };
  const answer = await call('PATCH', `/${id}`, patch);
  expect(answer.statusCode).toBe(200);
  expect(answer.json().data).toEqual({ ...before, ...patch, updated_at: '2026-01-01T00:00:01.000Z' });
  t.clock.advance(1_000);
  expect((await call('PATCH', `/${id}`, patch)).json()).toEqual(answer.json());
});

test('an optional setting can be removed with null', async () => {
  const site = { site: 'softwarerecs', tagged: ['crm'], query: 'mac', url: null };
  const id = await created({ kind: 'stackexchange', name: 'A', ...site });
  expect((await call('PATCH', `/${id}`, { query: null, board: null })).json().data).toMatchObject({
    tagged: ['crm'],
    query: null,
  });
  const refused = await call('PATCH', `/${id}`, { site: null });
  expect(refused.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer: '/site' }] });
});

test('the kind of a source cannot change', async () => {
  const id = await created();
  expect((await call('PATCH', `/${id}`, { kind: 'lever' })).json().errors).toMatchObject([
    { pointer: '/kind' },
  ]);
  expect((await call('PATCH', `/${id}`, { board: 'acme' })).json().errors).toMatchObject([
    { pointer: '/board' },
  ]);
});

test('a paused source has no next run, and a resumed one is due immediately', async () => {
  const id = await created();
  for (let tries = 0; tries < 2; tries++) {
    const paused = await call('POST', `/${id}/pause`);
    expect(paused.statusCode).toBe(200);
    expect(paused.json().data).toMatchObject({ status: 'paused', next_poll_at: null });
  }
  const refused = await call('POST', `/${id}/run`);
  expect(refused.statusCode).toBe(409);
  expect(refused.json()).toMatchObject({ code: 'CONFLICT', hint: expect.stringContaining('/resume') });
  t.clock.advance(5_000);
  const resumed = await call('POST', `/${id}/resume`);
  expect(resumed.json().data).toMatchObject({ status: 'active', next_poll_at: '2026-01-01T00:00:05.000Z' });
  expect((await call('PATCH', `/${id}`, { active: false })).json().data.status).toBe('paused');
});

test('a source can be created paused', async () => {
  const id = await created({ ...FEED, active: false });
  expect(await read(id)).toMatchObject({ status: 'paused', next_poll_at: null });
});

test('a requested run is due immediately, and the response does not wait for it', async () => {
  const id = await created();
  const claim = { now: t.clock.now(), leaseUntil: t.clock.now() + 1, ids: [id], token: 'run_1' };
  await t.store.claimSources(claim);
  t.clock.advance(60_000);
  const answer = await call('POST', `/${id}/run`);
  expect(answer.statusCode).toBe(202);
  expect(answer.json().data).toMatchObject({ id, next_poll_at: '2026-01-01T00:01:00.000Z' });
});

test('a deleted source is gone', async () => {
  const id = await created();
  expect((await call('DELETE', `/${id}`)).statusCode).toBe(204);
  expect((await call('GET', `/${id}`)).statusCode).toBe(404);
  expect((await call('DELETE', `/${id}`)).statusCode).toBe(404);
});

test("another tenant's source is 404 like an unknown one", async () => {
  const id = await created();
  const { auth } = await t.addTenant();
  const calls = [
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, { name: 'Mine' }],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/pause`],
    ['POST', `/${id}/resume`],
    ['POST', `/${id}/run`],
  ] as const;
  for (const [method, path, payload] of calls) {
    const answer = await call(method, path, payload, auth);
    expect([method, path, answer.statusCode]).toEqual([method, path, 404]);
  }
  expect(await read(id)).toMatchObject({ name: 'HVAC forum', status: 'active' });
  expect((await call('GET', '', undefined, auth)).json().data).toEqual([]);
});

test('reading requires sources:read, everything else sources:write', async () => {
  const id = await created();
  const reader = (await t.addKey({ scopes: ['sources:read'] })).auth;
  const stranger = (await t.addKey({ scopes: ['signals:write'] })).auth;
  expect((await call('GET', `/${id}`, undefined, reader)).statusCode).toBe(200);
  expect((await call('GET', '', undefined, stranger)).json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE' });
  const writes = [
    ['POST', '', { ...FEED, name: 'B' }],
    ['PATCH', `/${id}`, { name: 'B' }],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/run`],
    ['POST', `/${id}/pause`],
    ['POST', `/${id}/resume`],
  ] as const;
  for (const [method, path, payload] of writes) {
    const answer = await call(method, path, payload, reader);
    expect([method, path, answer.json().code]).toEqual([method, path, 'INSUFFICIENT_SCOPE']);
  }
});

test('a repeated request with an idempotency key creates one source', async () => {
  const headers = { ...t.auth, 'idempotency-key': 'one' };
  const first = await call('POST', '', FEED, headers);
  const again = await call('POST', '', FEED, headers);
  expect(again.json()).toEqual(first.json());
  expect(again.headers['idempotent-replayed']).toBe('true');
});

test('credentials of services are accepted, stored encrypted, and never shown', async () => {
  const reddit = {
    kind: 'reddit',
    name: 'R',
    subreddit: 'r/HVAC',
    client_id: 'app',
    client_secret: 'hush-hush',
  };
  const answer = await call('POST', '', reddit);
  expect(answer.json().data).toMatchObject({
    subreddit: 'HVAC',
    client_id: 'app',
    secrets: ['client_secret'],
  });
  const github = await call('POST', '', { kind: 'github', name: 'G', query: 'crm', token: 'ghp_hush' });
  const { id } = github.json().data;
  expect((await read(id)).secrets).toEqual(['token']);
  const stored = await t.store.getSource(t.tenant.id, id);
  for (const text of [answer.body, github.body, JSON.stringify(stored), t.logLines.join('')]) {
    expect(text).not.toMatch(/hush/);
  }
  expect((await call('PATCH', `/${id}`, { name: 'G2' })).json().data.secrets).toEqual(['token']);
  expect((await call('PATCH', `/${id}`, { token: null })).json().data.secrets).toEqual([]);
});

test.each<[string, Body, string]>([
  ['a subreddit without an app', { kind: 'reddit', subreddit: 'hvac', client_id: 'a' }, '/client_secret'],
  ['a tag without its instance', { kind: 'mastodon', tag: 'crm' }, '/url'],
  ['a key for who takes none', { kind: 'hackernews', query: 'crm', token: 'x' }, '/token'],
  ['a forum inside our own network', { kind: 'discourse', url: 'http://10.0.0.1/' }, '/url'],
  ['an age of none', { ...FEED, max_age_days: 0 }, '/max_age_days'],
])('%s is also rejected with its pointer', async (_, body, pointer) => {
  const answer = await call('POST', '', { name: 'A', ...body });
  expect([answer.statusCode, answer.json().errors[0].pointer]).toEqual([400, pointer]);
});

test('the runs of a source are listed, for its tenant only', async () => {
  const id = await created();
  const claim = { now: t.clock.now(), leaseUntil: t.clock.now() + 1, ids: [id], token: 'run_1' };
  const [claimed] = await t.store.claimSources(claim);
  if (claimed === undefined) throw new Error('nothing was due');
  const error = { code: 'dns', message: 'The host name does not resolve.', at: t.clock.now() };
  await t.store.finishSourceRun({ ...aRun(claimed), error, startedAt: t.clock.now() });
  const answer = await call('GET', `/${id}/runs`);
  expect(answer.json()).toMatchObject({
    data: [
      {
        status: 'failed',
        started_at: '2026-01-01T00:00:00.000Z',
        error: { code: 'dns', hint: 'Check the spelling of the host name.' },
        items_seen: 0,
      },
    ],
    pagination: { has_more: false },
  });
  expect(await read(id)).toMatchObject({
    failing_since: '2026-01-01T00:00:00.000Z',
    last_error: { code: 'dns' },
  });
  const other = await t.addTenant();
  expect((await call('GET', `/${id}/runs`, undefined, other.auth)).statusCode).toBe(404);
});
