import { afterEach, beforeEach, expect, test } from 'vitest';
import { companyDetailSchema, companySchema } from '../../src/model/company.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { aLead, aNewLead } from '../support/leads.ts';

const DAY = 24 * 3_600_000;

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

function get(path = '', headers = t.auth) {
  return t.app.inject({ url: `/v1/companies${path}`, headers });
}

function put(company: string, payload: object = {}, headers = t.auth) {
  return t.app.inject({ method: 'PUT', url: `/v1/companies/${company}`, headers, payload });
}

let posts = 0;
/** Observes a post that names a company and returns its signal. */
async function observe(company: object, overrides: Record<string, unknown> = {}) {
  const payload = aPost({
    platform: { name: 'hn' },
    external_id: `post-${++posts}`,
    company: { domain: 'acme.com', ...company },
    ...overrides,
  });
  const answer = await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload });
  expect(answer.statusCode).toBe(201);
  return answer.json().data.signals[0];
}

test('a signal with a domain creates a company with its facts and their provenance', async () => {
  const signal = await observe({ name: 'Acme', industry: 'Heating', headcount: 51, location: 'Leeds' });
  const answer = await get('/acme.com');
  expect(answer.statusCode).toBe(200);
  const { data } = answer.json();
  expect(companyDetailSchema.parse(data)).toEqual(data);
  const source = { source: 'signal', signal_id: signal.signal_id, at: '2026-01-01T00:00:00.000Z' };
  expect(data).toEqual({
    id: expect.stringMatching(/^cmp_/),
    domain: 'acme.com',
    name: 'Acme',
    industry: 'Heating',
    headcount: '51',
    location: 'Leeds',
    description: '',
    linkedin_url: '',
    sources: { name: source, industry: source, headcount: source, location: source },
    signal_counts: { last_7_days: 1, last_30_days: 1, last_90_days: 1 },
    last_signal_at: '2026-01-01T00:00:00.000Z',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    top_signals: [signal],
    contacts: [],
  });
  expect((await get(`/${data.id}`)).json()).toEqual({ data });
});

test('differently written domains are the same company', async () => {
  await observe({ domain: 'https://www.Acme.com/about' });
  await observe({ domain: 'acme.com.' });
  const { data } = (await get('/WWW.ACME.COM')).json();
  expect(data.signal_counts.last_7_days).toBe(2);
  expect((await get()).json().data).toHaveLength(1);
  expect((await get('?domain=www.acme.com')).json().data).toHaveLength(1);
  const signals = await t.app.inject({ url: '/v1/signals?company_domain=www.acme.com', headers: t.auth });
  expect(signals.json().data.map((row: { company: { domain: string } }) => row.company.domain)).toEqual([
    'acme.com',
    'acme.com',
  ]);
});

test('a signal without a domain creates no company', async () => {
  await observe({ domain: '', name: 'Acme' });
  expect((await get()).json().data).toEqual([]);
});

test('the newer of two signals wins, and facts that it omits are kept', async () => {
  const first = await observe({ name: 'Acme', industry: 'Heating' });
  t.clock.advance(DAY);
  const second = await observe({ name: 'Acme Ltd' });
  const { data } = (await get('/acme.com')).json();
  expect(data).toMatchObject({
    name: 'Acme Ltd',
    industry: 'Heating',
    updated_at: '2026-01-02T00:00:00.000Z',
  });
  expect([data.sources.name.signal_id, data.sources.industry.signal_id]).toEqual([
    second.signal_id,
    first.signal_id,
  ]);
});

test('facts set by hand take precedence over signals until they are cleared', async () => {
  await observe({ name: 'Acme' });
  const set = await put('acme.com', {
    name: 'Acme Group',
    headcount: 120,
    linkedin_url: 'https://linkedin.com/company/acme',
  });
  expect(set.statusCode).toBe(200);
  expect(companyDetailSchema.parse(set.json().data)).toEqual(set.json().data);
  await observe({ name: 'Acme Ltd' });
  const { data } = (await get('/acme.com')).json();
  expect(data).toMatchObject({ name: 'Acme Group', headcount: '120' });
  expect(data.sources.name).toEqual({ source: 'manual', signal_id: null, at: '2026-01-01T00:00:00.000Z' });

  await put('acme.com', { name: null, headcount: '' });
  expect((await get('/acme.com')).json().data).toMatchObject({
    name: 'Acme Ltd',
    headcount: '',
    linkedin_url: 'https://linkedin.com/company/acme',
    sources: { name: { source: 'signal' } },
  });
});

test('setting facts of an unknown domain creates the company', async () => {
  const made = await put('https%3A%2F%2Fwww.globex.com%2F', { name: 'Globex', location: 'Oslo' });
  expect(made.statusCode).toBe(201);
  const { data } = made.json();
  expect(data).toMatchObject({ domain: 'globex.com', name: 'Globex', last_signal_at: null, top_signals: [] });
  expect(made.headers.location).toBe(`https://signals.example.com/v1/companies/${data.id}`);
  t.clock.advance(1_000);
  const again = await put('globex.com', { name: 'Globex', location: 'Oslo' });
  expect(again.statusCode).toBe(200);
  expect(again.json()).toEqual(made.json());
  expect((await put(data.id, { industry: 'Energy' })).json().data.industry).toBe('Energy');
});

test('concurrent writes to one company create one company with all their facts', async () => {
  const fields = ['name', 'industry', 'location', 'description'];
  const answers = await Promise.all(fields.map((field) => put('acme.com', { [field]: field })));
  expect(answers.map((answer) => answer.statusCode).sort()).toEqual([200, 200, 200, 201]);
  expect((await get('/acme.com')).json().data).toMatchObject(Object.fromEntries(fields.map((f) => [f, f])));
  expect((await get()).json().data).toHaveLength(1);
});

test.each<[string, object, string]>([
  ['a mistyped member', { industy: 'x' }, '/industy'],
  ['a name of the wrong type', { name: 7 }, '/name'],
  ['a name that is too long', { name: 'x'.repeat(301) }, '/name'],
  ['a headcount below nothing', { headcount: -1 }, '/headcount'],
  ['an address that is none', { linkedin_url: 'linkedin' }, '/linkedin_url'],
])('%s is rejected with its pointer', async (_, payload, pointer) => {
  const answer = await put('acme.com', payload);
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer }] });
  expect((await get('/acme.com')).statusCode).toBe(404);
});

test('a path that is neither id nor domain cannot be read or created', async () => {
  expect((await get('/acme')).json().code).toBe('NOT_FOUND');
  expect((await put('acme')).json()).toMatchObject({
    code: 'INVALID_REQUEST',
    errors: [{ parameter: 'company' }],
  });
  expect((await put('cmp_none', { name: 'A' })).json().code).toBe('NOT_FOUND');
  expect((await get('/cmp_none')).statusCode).toBe(404);
});

test('signals are counted over 7, 30 and 90 days, and the best of these come first', async () => {
  const cold = { text: 'Weather is nice today.' };
  await observe({}); // outside every window
  t.clock.advance(1);
  const oldest = await observe({});
  t.clock.advance(61 * DAY);
  const coldest = await observe({}, cold);
  t.clock.advance(25 * DAY);
  const newest = await observe({});
  t.clock.advance(4 * DAY);
  const { data } = (await get('/acme.com')).json();
  expect(data.signal_counts).toEqual({ last_7_days: 1, last_30_days: 2, last_90_days: 3 });
  expect(data.last_signal_at).toBe(newest.timestamp);
  const ids = data.top_signals.map((signal: { signal_id: string }) => signal.signal_id);
  expect(ids).toEqual([newest.signal_id, oldest.signal_id, coldest.signal_id]);
  for (let i = 0; i < 6; i++) await observe({});
  expect((await get('/acme.com')).json().data.top_signals).toHaveLength(5);
});

test('known contacts are the leads of the domain, then other people of its signals, once each', async () => {
  const company = { name: 'Acme', domain: 'acme.com', industry: '', headcount: '', location: '' };
  const jane = aLead('led_1', { name: 'Jane Doe', email: 'jane@acme.com', title: 'CTO', company });
  await t.store.commitLead(aNewLead(t.tenant.id, jane));
  await observe({}, { prospect: { name: 'Jane D.', email: 'Jane@acme.com' } });
  await observe({}, { prospect: { name: 'Bob', title: 'Buyer' } });
  t.clock.advance(1);
  const { signal_id } = await observe(
    {},
    { text: 'Which van do you drive?', prospect: { name: 'BOB', email: 'bob@acme.com' } },
  );
  await observe({}, { prospect: { title: 'Somebody' } });
  const { data } = (await get('/acme.com')).json();
  const unknown = { name: '', title: '', email: '', linkedin_url: '' };
  expect(data.contacts).toEqual([
    { ...unknown, lead_id: 'led_1', signal_id: null, name: 'Jane Doe', email: 'jane@acme.com', title: 'CTO' },
    { ...unknown, lead_id: null, signal_id, name: 'BOB', email: 'bob@acme.com' },
  ]);
});

test('the list is newest first, filtered and paginated', async () => {
  const domains = ['acme.com', 'globex.com', 'initech.com', 'umbrella.com'];
  for (const [index, domain] of domains.entries()) {
    t.clock.advance(1);
    await put(domain, { name: `Übung ${index}`, industry: index % 2 === 0 ? 'Heating' : 'Energy' });
  }
  const seen: string[] = [];
  let path: string | null = '?limit=3';
  while (path !== null) {
    const answer: Awaited<ReturnType<typeof get>> = await get(path);
    for (const row of answer.json().data) expect(companySchema.parse(row)).toEqual(row);
    seen.push(...answer.json().data.map((row: { domain: string }) => row.domain));
    await put(`added-${seen.length}.com`);
    path =
      /<https:\/\/signals\.example\.com\/v1\/companies([^>]+)>/.exec(String(answer.headers.link))?.[1] ??
      null;
  }
  expect(seen).toEqual(domains.toReversed());
  const found = async (query: string) =>
    (await get(`?${query}`)).json().data.map((row: { domain: string }) => row.domain);
  expect(await found('industry=heating')).toEqual(['initech.com', 'acme.com']);
  expect(await found('industry=heating,ENERGY&domain=acme.com,globex.com')).toEqual([
    'globex.com',
    'acme.com',
  ]);
  expect(await found('q=ubung%202')).toEqual(['initech.com']);
  expect(await found('q=OBEX')).toEqual(['globex.com']);
  expect(await found('q=nobody')).toEqual([]);
});

test('by activity, the company with the newest signal is first and one without signals last', async () => {
  await put('quiet.com');
  await observe({ domain: 'acme.com' });
  t.clock.advance(DAY);
  await observe({ domain: 'globex.com' });
  t.clock.advance(DAY);
  await observe({ domain: 'acme.com' });
  const { data } = (await get('?sort=-last_signal_at')).json();
  expect(data.map((row: { domain: string }) => row.domain)).toEqual(['acme.com', 'globex.com', 'quiet.com']);
});

test('invalid query parameters of the list are reported', async () => {
  await put('a.com');
  await put('b.com');
  const { next_cursor } = (await get('?limit=1')).json().pagination;
  expect((await get('?industri=x')).json()).toMatchObject({
    code: 'UNKNOWN_PARAMETER',
    errors: [{ parameter: 'industri', detail: expect.stringContaining('"industry"') }],
  });
  expect((await get('?sort=name')).json().code).toBe('INVALID_REQUEST');
  expect((await get(`?sort=-last_signal_at&cursor=${next_cursor}`)).json().code).toBe('INVALID_CURSOR');
});

test("another tenant's company is 404 by id, and each tenant has its own company per domain", async () => {
  const { id } = (await put('acme.com', { name: 'Acme' })).json().data;
  const { auth } = await t.addTenant();
  expect((await get(`/${id}`, auth)).json().code).toBe('NOT_FOUND');
  expect((await get('/acme.com', auth)).statusCode).toBe(404);
  expect((await put(id, { name: 'Mine' }, auth)).statusCode).toBe(404);
  expect((await put('acme.com', { name: 'Mine' }, auth)).statusCode).toBe(201);
  expect((await get('', auth)).json().data).toHaveLength(1);
  expect((await get(`/${id}`)).json().data.name).toBe('Acme');
});

test('reading requires companies:read, writing companies:write', async () => {
  const reader = await t.addKey({ scopes: ['companies:read'] });
  const stranger = await t.addKey({ scopes: ['signals:write'] });
  await put('acme.com');
  expect((await get('/acme.com', reader.auth)).statusCode).toBe(200);
  expect((await put('acme.com', {}, reader.auth)).json().required_scope).toBe('companies:write');
  expect((await get('', stranger.auth)).json().required_scope).toBe('companies:read');
  expect((await get('/acme.com', stranger.auth)).json().required_scope).toBe('companies:read');
});
