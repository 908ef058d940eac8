import { afterEach, beforeEach, expect, test } from 'vitest';
import { leadDetailSchema, leadSchema } from '../../src/model/lead.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

async function add(payload: object) {
  t.clock.advance(1_000);
  const answer = await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
  expect(answer.statusCode).toBe(201);
  return answer.json().data;
}

function get(url: string, headers = t.auth) {
  return t.app.inject({ url, headers });
}

function patch(id: string, payload: object, headers = t.auth) {
  return t.app.inject({ method: 'PATCH', url: `/v1/leads/${id}`, headers, payload });
}

const emails = (page: { data: { email: string }[] }) => page.data.map(({ email }) => email);

test('a lead is returned with its signals, as in the response that created it', async () => {
  const made = await add({ email: 'jane@acme.com', signal: aPost() });
  const answer = await get(`/v1/leads/${made.id}`);
  expect(answer.json().data).toEqual(made);
  expect(leadDetailSchema.parse(made)).toEqual(made);
});

test('a list has the members of the schema, newest first, without signals', async () => {
  await add({ email: 'a@acme.com', signal: aPost() });
  await add({ email: 'b@acme.com' });
  const page = (await get('/v1/leads')).json();
  expect(emails(page)).toEqual(['b@acme.com', 'a@acme.com']);
  for (const row of page.data) expect(leadSchema.parse(row)).toEqual(row);
  expect(page.pagination).toEqual({ next_cursor: null, has_more: false, limit: 25 });
});

test.each([
  ['stage=contacted', ['b@beta.com']],
  ['stage=new,contacted', ['c@gmail.com', 'b@beta.com', 'a@acme.com']],
  ['stage=new&stage=won', ['c@gmail.com', 'a@acme.com']],
  ['min_score=1', ['a@acme.com']],
  ['classification=hot,warm', ['a@acme.com']],
  ['company_domain=https://www.acme.com/', ['a@acme.com']],
  ['source=WEBINAR', ['b@beta.com']],
  ['tag=vip', ['b@beta.com', 'a@acme.com']],
  ['email=A@Acme.com', ['a@acme.com']],
  ['sort=created_at', ['a@acme.com', 'b@beta.com', 'c@gmail.com']],
  ['sort=-icp_score', ['a@acme.com', 'c@gmail.com', 'b@beta.com']],
  ['tag=vip&stage=new', ['a@acme.com']],
  ['email=nobody@acme.com', []],
  ['q=b%40beta', ['b@beta.com']],
  ['q=acme&tag=vip', ['a@acme.com']],
  ['q=', ['c@gmail.com', 'b@beta.com', 'a@acme.com']],
])('GET /v1/leads?%s', async (query, expected) => {
  await add({ email: 'a@acme.com', tags: ['VIP'], signal: aPost() });
  await add({ email: 'b@beta.com', tags: ['vip'], source: 'Webinar', stage: 'contacted' });
  await add({ email: 'c@gmail.com' });
  expect(emails((await get(`/v1/leads?${query}`)).json())).toEqual(expected);
});

test('pages show every lead once while leads are added', async () => {
  for (let i = 1; i <= 7; i++) await add({ email: `p${i}@acme.com` });
  const seen: string[] = [];
  let url: string | null = '/v1/leads?limit=3';
  let added = 100;
  while (url !== null) {
    const answer: Awaited<ReturnType<typeof get>> = await get(url);
    seen.push(...emails(answer.json()));
    const link = /^<https:\/\/signals\.example\.com(\/[^>]*)>; rel="next"$/.exec(
      String(answer.headers.link ?? ''),
    );
    expect(link !== null).toBe(answer.json().pagination.has_more);
    url = link?.[1] ?? null;
    if (added < 102) await add({ email: `p${added++}@acme.com` });
  }
  expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1].map((i) => `p${i}@acme.com`));
});

test('a cursor is valid only for its own tenant and filters', async () => {
  for (let i = 1; i <= 3; i++) await add({ email: `p${i}@acme.com` });
  const { next_cursor } = (await get('/v1/leads?limit=1')).json().pagination;
  const other = await t.addTenant();
  for (const answer of [
    await get(`/v1/leads?limit=1&stage=new&cursor=${next_cursor}`),
    await get(`/v1/leads?limit=1&cursor=${next_cursor}`, other.auth),
    await get(`/v1/leads?limit=1&cursor=${next_cursor}x`),
  ]) {
    expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_CURSOR' });
  }
});

test.each([
  ['stages=new', 'UNKNOWN_PARAMETER', 'stage'],
  ['stage=hot', 'INVALID_REQUEST', 'stage'],
  ['min_score=101', 'INVALID_REQUEST', 'min_score'],
  ['limit=0', 'INVALID_REQUEST', 'limit'],
  ['sort=name', 'INVALID_REQUEST', 'sort'],
])('?%s is rejected', async (query, code, named) => {
  const answer = (await get(`/v1/leads?${query}`)).json();
  expect(answer).toMatchObject({ status: 400, code });
  expect(JSON.stringify(answer.errors)).toContain(named);
});

test('an update sets the given members, derives dependent ones again, and keeps the rest', async () => {
  const before = await add({
    email: 'jane@acme.com',
    name: 'Jane Doe',
    title: 'CTO',
    tags: ['a'],
    custom_fields: { x: 1, y: 2 },
  });
  t.clock.advance(1_000);
  const answer = await patch(before.id, {
    title: 'VP Sales',
    company: { industry: 'HVAC' },
    tags: ['b', 'B', 'c'],
    custom_fields: { x: null, z: true },
    source: 'fair',
  });
  expect(answer.statusCode).toBe(200);
  const { data } = answer.json();
  expect(data).toMatchObject({
    email: 'jane@acme.com',
    name: 'Jane Doe',
    title: 'VP Sales',
    seniority: 'vp',
    department: 'sales',
    company: { domain: 'acme.com', industry: 'HVAC' },
    tags: ['b', 'c'],
    custom_fields: { y: 2, z: true },
    source: 'fair',
    created_at: before.created_at,
  });
  expect(data.provenance['company.industry']).toMatchObject({ source: 'request', confidence: 1 });
  expect(data.updated_at > before.updated_at).toBe(true);
  expect((await get(`/v1/leads/${before.id}`)).json().data).toEqual(data);
});

test.each([null, ''])('%j clears a member', async (nothing) => {
  const { id } = await add({
    email: 'jane@acme.com',
    name: 'Jane Doe',
    company: { name: 'Acme' },
    custom_fields: { a: 1 },
  });
  const cleared = { name: nothing, source: nothing, company: { name: nothing } };
  const { data } = (await patch(id, { ...cleared, tags: null, custom_fields: null })).json();
  expect(data).toMatchObject({
    name: '',
    first_name: '',
    last_name: '',
    company: { name: '', domain: 'acme.com' },
    tags: [],
    custom_fields: {},
  });
  expect(Object.keys(data.provenance).sort()).toEqual(['company.domain', 'email']);
  expect((await patch(id, { company: null })).json().data.company.domain).toBe('');
});

test('an update that changes nothing stores nothing', async () => {
  const made = await add({ email: 'jane@acme.com', name: 'Jane Doe' });
  t.clock.advance(1_000);
  for (const payload of [{}, { name: 'Jane Doe' }, { title: null }]) {
    expect((await patch(made.id, payload)).json().data).toEqual(made);
  }
});

test('a new address becomes the identity, and the old one can be reused', async () => {
  const { id } = await add({ email: 'old@acme.com' });
  await patch(id, { email: 'NEW@acme.com' });
  const again = await t.app.inject({
    method: 'POST',
    url: '/v1/leads',
    headers: t.auth,
    payload: { email: 'new@acme.com' },
  });
  expect(again.statusCode).toBe(200);
  expect(again.json().data.id).toBe(id);
  await add({ email: 'old@acme.com' });
});

test('an address or profile of another lead is rejected, and that lead is named', async () => {
  const one = await add({ email: 'one@acme.com', linkedin_url: 'linkedin.com/in/one' });
  const two = await add({ email: 'two@acme.com' });
  for (const payload of [{ email: 'one@acme.com' }, { linkedin_url: 'https://linkedin.com/in/One/' }]) {
    const answer = await patch(two.id, payload);
    expect(answer.json()).toMatchObject({ status: 409, code: 'CONFLICT', lead_ids: [one.id] });
  }
  expect((await get(`/v1/leads/${two.id}`)).json().data).toEqual(two);
});

test('a new address attaches the signals of its owner', async () => {
  const { id } = await add({ name: 'Jane Doe', company: { domain: 'acme.com' } });
  const payload = aPost({ prospect: { email: 'jane@acme.com' } });
  await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload });
  const { data } = (await patch(id, { email: 'jane@acme.com' })).json();
  expect(data).toMatchObject({ signal_count: 1, signals: [{ lead_id: id }] });
});

test.each([
  ['stage', { stage: 'won' }],
  ['emial', { emial: 'x' }],
  ['email', { email: 'x' }],
  ['company/domain', { company: { domain: 'x' } }],
  ['company/url', { company: { url: 'x' } }],
  ['tags', { tags: '' }],
  ['seniority', { seniority: 'king' }],
])('an invalid change of /%s is rejected with its pointer', async (pointer, payload) => {
  const { id } = await add({ email: 'jane@acme.com' });
  const answer = await patch(id, payload);
  expect(answer.json()).toMatchObject({
    status: 400,
    code: 'INVALID_REQUEST',
    errors: [{ pointer: `/${pointer}` }],
  });
});

test('concurrent updates are all kept', async () => {
  const { id } = await add({ email: 'jane@acme.com' });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => patch(id, { custom_fields: { [`f${i}`]: i } })),
  );
  expect(answers.every((answer) => answer.statusCode === 200)).toBe(true);
  expect(Object.keys((await get(`/v1/leads/${id}`)).json().data.custom_fields)).toHaveLength(20);
});

test('an unknown lead and one of another tenant are both 404', async () => {
  const { id } = await add({ email: 'jane@acme.com' });
  const other = await t.addTenant();
  for (const answer of [
    await get('/v1/leads/led_none'),
    await get(`/v1/leads/${id}`, other.auth),
    await patch('led_none', { name: 'x' }),
    await patch(id, { name: 'x' }, other.auth),
  ]) {
    expect(answer.json()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  }
  expect((await get('/v1/leads', other.auth)).json().data).toEqual([]);
});

test('each route requires its scope', async () => {
  const { id } = await add({ email: 'jane@acme.com' });
  const reader = await t.addKey({ scopes: ['leads:read'] });
  const stranger = await t.addKey({ scopes: ['signals:write', 'pipeline:write'] });
  expect((await get('/v1/leads', reader.auth)).statusCode).toBe(200);
  expect((await get(`/v1/leads/${id}`, reader.auth)).statusCode).toBe(200);
  const refused = [
    [await get('/v1/leads', stranger.auth), 'leads:read'],
    [await get(`/v1/leads/${id}`, stranger.auth), 'leads:read'],
    [await patch(id, { name: 'x' }, reader.auth), 'leads:write'],
    [await t.app.inject({ method: 'DELETE', url: `/v1/leads/${id}`, headers: reader.auth }), 'leads:write'],
  ] as const;
  for (const [answer, scope] of refused) {
    expect(answer.json()).toMatchObject({ status: 403, code: 'INSUFFICIENT_SCOPE', required_scope: scope });
  }
});

test('a lead has an owner, notes and a next step, and is filtered by owner', async () => {
  const { id } = await add({ email: 'jane@acme.com' });
  await add({ email: 'bob@acme.com' });
  const [{ email: owner = '' } = {}] = await t.store.listMembers(t.tenant.id);
  const followUp = {
    owner,
    notes: 'Met at the fair.\nWants SSO.',
    next_step: { text: 'Call', due_date: '2026-02-01' },
  };
  const answer = await patch(id, { ...followUp, owner: owner.toUpperCase() });
  expect(leadDetailSchema.parse(answer.json().data)).toMatchObject(followUp);
  expect(emails((await get(`/v1/leads?owner=${owner}`)).json())).toEqual(['jane@acme.com']);
  const { data } = (await patch(id, { owner: null, notes: '', next_step: null })).json();
  expect(data).toMatchObject({ owner: '', notes: '', next_step: null });
});

test.each([
  ['/owner', { owner: 'stranger@example.com' }],
  ['/notes', { notes: 'x'.repeat(5_001) }],
  ['/next_step/text', { next_step: { text: ' ' } }],
  ['/next_step/due_date', { next_step: { text: 'Call', due_date: '2026-02-30' } }],
])('an invalid follow-up is rejected with the pointer %s', async (pointer, payload) => {
  const { id } = await add({ email: 'jane@acme.com' });
  expect((await patch(id, payload)).json()).toMatchObject({ status: 400, errors: [{ pointer }] });
});
