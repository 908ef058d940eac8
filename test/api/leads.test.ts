import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { leadDetailSchema } from '../../src/model/lead.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

function post(payload: object, url = '/v1/leads', headers = t.auth) {
  return t.app.inject({ method: 'POST', url, headers, payload });
}

async function lead(payload: object) {
  const answer = await post(payload);
  expect([200, 201]).toContain(answer.statusCode);
  return answer.json().data;
}

const JANE = { email: 'Jane.Doe@Acme.com', name: 'Jane Doe', title: 'VP of Operations' };

test('a new person becomes a lead: 201 with its URL and everything derived from the input', async () => {
  const answer = await post({
    ...JANE,
    source: 'webinar',
    tags: ['VIP', 'vip', 'roofing'],
    custom_fields: { crm_id: 7 },
  });
  expect(answer.statusCode).toBe(201);
  const { data } = answer.json();
  expect(leadDetailSchema.parse(data)).toEqual(data);
  expect(answer.headers.location).toBe(`https://signals.example.com/v1/leads/${data.id}`);
  expect(data).toMatchObject({
    id: expect.stringMatching(/^led_/),
    email: 'jane.doe@acme.com',
    first_name: 'Jane',
    last_name: 'Doe',
    title: 'VP of Operations',
    seniority: 'vp',
    department: 'operations',
    company: { domain: 'acme.com' },
    source: 'webinar',
    stage: 'new',
    icp_score: null,
    classification: null,
    signal_count: 0,
    tags: ['VIP', 'roofing'],
    custom_fields: { crm_id: 7 },
    deal: null,
    signals: [],
    provenance: {
      name: { source: 'request', confidence: 1 },
      first_name: { source: 'name', confidence: 0.9 },
      seniority: { source: 'title' },
      'company.domain': { source: 'email', confidence: 0.9 },
    },
  });
  expect(data.enriched_at).toBe(data.created_at);
});

test.each<[string, object]>([
  ['the address, in any case', { email: ' JANE.doe@acme.COM ' }],
  ['the profile, in another spelling', { linkedin_url: 'https://de.linkedin.com/in/Jane-Doe/?trk=x' }],
  ['the name at the company', { name: 'JANE  DOE', company: { domain: 'https://www.acme.com/about' } }],
  [
    'a first and a last name at the company',
    { first_name: 'Jane', last_name: 'Doé', company: { domain: 'acme.com' } },
  ],
])('a person known by %s is merged into their lead: 200', async (_, again) => {
  const first = await lead({ ...JANE, linkedin_url: 'linkedin.com/in/jane-doe' });
  const answer = await post(again);
  expect(answer.statusCode).toBe(200);
  expect(answer.json().data.id).toBe(first.id);
});

test('a merge fills empty members, overwrites nothing, unites tags and keeps the stage', async () => {
  await post({ ...JANE, source: 'webinar', tags: ['vip'], custom_fields: { a: 1 }, stage: 'contacted' });
  const merged = await lead({
    email: 'jane.doe@acme.com',
    name: 'J. D.',
    title: 'CEO',
    linkedin_url: 'https://www.linkedin.com/in/jane-doe',
    company: { name: 'Acme Inc', domain: 'other.com' },
    source: 'list',
    stage: 'won',
    tags: ['VIP', 'roofing'],
    custom_fields: { a: 2, b: 'x' },
  });
  expect(merged).toMatchObject({
    name: 'Jane Doe',
    title: 'VP of Operations',
    seniority: 'vp',
    linkedin_url: 'https://www.linkedin.com/in/jane-doe',
    company: { name: 'Acme Inc', domain: 'acme.com' },
    source: 'webinar',
    stage: 'contacted',
    tags: ['vip', 'roofing'],
    custom_fields: { a: 1, b: 'x' },
  });
});

test('two people with the same name at one company stay separate if their addresses differ', async () => {
  const one = await lead({ email: 'john1@acme.com', name: 'John Smith', company: { domain: 'acme.com' } });
  const two = await lead({ email: 'john2@acme.com', name: 'John Smith', company: { domain: 'acme.com' } });
  expect(two.id).not.toBe(one.id);
});

test('a request that matches two leads is rejected and names both', async () => {
  const one = await lead({ email: 'a@acme.com' });
  const two = await lead({ linkedin_url: 'https://linkedin.com/in/b' });
  const answer = await post({ email: 'a@acme.com', linkedin_url: 'https://linkedin.com/in/b' });
  expect(answer.statusCode).toBe(409);
  expect(answer.json().code).toBe('CONFLICT');
  expect(answer.json().lead_ids.sort()).toEqual([one.id, two.id].sort());
  for (const { id } of [one, two]) expect(answer.json().detail).toContain(id);
});

test('without enrichment nothing is derived', async () => {
  const { enriched_at, provenance, company, first_name } = await lead({ ...JANE, enrich: false });
  expect({ enriched_at, company: company.domain, first_name }).toEqual({
    enriched_at: null,
    company: '',
    first_name: '',
  });
  expect(Object.keys(provenance).sort()).toEqual(['email', 'name', 'title']);
});

test.each<[string, object, string]>([
  ['nobody', {}, '/email'],
  ['a name alone', { name: 'Jane' }, '/company/domain'],
  ['a company alone', { company: { domain: 'acme.com' } }, '/name'],
  ['empty texts', { email: '', linkedin_url: null }, '/email'],
  ['no address', { email: 'jane' }, '/email'],
  ['a page that is no profile', { linkedin_url: 'https://linkedin.com/company/acme' }, '/linkedin_url'],
  ['no domain', { name: 'Jane', company: { domain: 'acme' } }, '/company/domain'],
  ['an unknown stage', { email: 'a@b.com', stage: 'hot' }, '/stage'],
  ['an unknown member', { email: 'a@b.com', emial: 'x' }, '/emial'],
  ['an unknown signal', { signal_ids: ['sig_none'] }, '/signal_ids/0'],
  [
    'a signal without text',
    { email: 'a@b.com', signal: { platform: { name: 'x' }, text: '' } },
    '/signal/text',
  ],
  ['an unknown profile', { signal: { ...aPost(), icp_profile_id: 'icp_none' } }, '/signal/icp_profile_id'],
  ['an object as a custom field', { email: 'a@b.com', custom_fields: { a: {} } }, '/custom_fields/a'],
])('%s is rejected with its pointer', async (_, payload, pointer) => {
  const answer = await post(payload);
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer }] });
});

test('a lead created from a signal is its author, and both reference each other', async () => {
  const observed = await post(
    aPost({
      prospect: { name: 'Jane Doe', title: 'CTO', email: 'jane@acme.com' },
      company: { name: 'Acme', domain: 'acme.com' },
    }),
    '/v1/signals',
  );
  const [{ signal_id, icp_score, classification, timestamp }] = observed.json().data.signals;
  const made = await lead({ signal_ids: [signal_id] });
  expect(made).toMatchObject({
    name: 'Jane Doe',
    title: 'CTO',
    seniority: 'c_suite',
    email: 'jane@acme.com',
    company: { name: 'Acme', domain: 'acme.com' },
    source: 'reddit',
    icp_score,
    classification,
    signal_count: 1,
    last_signal_at: timestamp,
    signals: [
      { signal_id, lead_id: made.id, explanation: { score: icp_score, summary: expect.any(String) } },
    ],
  });
  const signal = await t.app.inject({ url: `/v1/signals/${signal_id}`, headers: t.auth });
  expect(signal.json().data.lead_id).toBe(made.id);
  const again = await post({ signal_ids: [signal_id] });
  expect(again.statusCode).toBe(200);
  expect(again.json().data).toEqual(made);
});

test('earlier posts of a person are attached to their lead and enrich it', async () => {
  await post(
    aPost({ prospect: { name: 'Jane Doe', email: 'Jane@acme.com', title: 'Owner' } }),
    '/v1/signals',
  );
  const made = await lead({ email: 'jane@acme.com' });
  expect(made).toMatchObject({ name: 'Jane Doe', seniority: 'owner', signal_count: 1 });
});

test('later posts of a person are attached to their lead on arrival', async () => {
  const made = await lead({ email: 'jane@acme.com' });
  const observed = await post(aPost({ prospect: { email: 'Jane@Acme.com' } }), '/v1/signals');
  const [signal] = observed.json().data.signals;
  expect(signal.lead_id).toBe(made.id);
  const { data } = (await t.app.inject({ url: `/v1/leads/${made.id}`, headers: t.auth })).json();
  expect(data).toMatchObject({ icp_score: signal.icp_score, signal_count: 1, signals: [signal] });
  expect(await lead({ email: 'jane@acme.com', signal_ids: [signal.signal_id] })).toEqual(data);
});

test('a post in the request is scored, stored and attached, and a repeat changes nothing', async () => {
  const payload = { email: 'jane@acme.com', signal: aPost() };
  const made = await lead(payload);
  expect(made.signals).toHaveLength(1);
  expect(made.icp_score).toBeGreaterThan(0);
  const listed = await t.app.inject({ url: '/v1/signals', headers: t.auth });
  expect(listed.json().data).toMatchObject([{ lead_id: made.id }]);
  expect(await lead(payload)).toEqual(made);
});

test('known facts about a company apply to its people', async () => {
  const company = {
    name: 'Acme',
    domain: 'acme.com',
    industry: 'HVAC',
    headcount: '11-50',
    location: 'Austin',
  };
  await post(aPost({ company }), '/v1/signals');
  const made = await lead({ email: 'bob@acme.com' });
  expect(made.company).toEqual(company);
  expect(made.provenance['company.industry']).toMatchObject({ source: 'company', confidence: 0.8 });
});

test('a signal of another person is not attached', async () => {
  const observed = await post(aPost({ prospect: { email: 'jane@acme.com' } }), '/v1/signals');
  const [{ signal_id }] = observed.json().data.signals;
  const jane = await lead({ signal_ids: [signal_id] });
  const answer = await post({ email: 'bob@acme.com', signal_ids: [signal_id] });
  expect(answer.statusCode).toBe(409);
  expect(answer.json().lead_ids).toEqual([jane.id]);
});

test('50 concurrent requests for one person create one lead', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      post({
        email: 'jane@acme.com',
        tags: [`t${i}`],
        signal: aPost({ platform: { name: 'hn' }, external_id: `p${i}` }),
      }),
    ),
  );
  expect(answers.filter((answer) => answer.statusCode === 201)).toHaveLength(1);
  expect(answers.filter((answer) => answer.statusCode === 200)).toHaveLength(49);
  const { data } = (await t.app.inject({ url: '/v1/leads', headers: t.auth })).json();
  expect(data).toHaveLength(1);
  expect(data[0].tags).toHaveLength(50);
  expect(data[0].signal_count).toBe(50);
});

test('an enrichment fires its event in the same commit, and a request without changes fires none', async () => {
  const payload = { url: 'http://127.0.0.1:9/hook', event_types: ['lead.enriched'] };
  await post(payload, '/v1/webhooks');
  const made = await lead({ email: 'jane@acme.com' });
  expect(t.nudged).toHaveLength(1);
  await lead({ email: 'jane@acme.com' });
  await lead({ email: 'bob@acme.com', enrich: false });
  expect(t.nudged).toHaveLength(1);
  await lead({ email: 'jane@acme.com', name: 'Jane Doe' });
  expect(t.nudged).toHaveLength(2);
  expect(made.signals).toEqual([]);
});

test('creating a lead fires lead.created, enriched or not, and merging one does not', async () => {
  const made = await lead({ email: 'jane@acme.com', enrich: false });
  await lead({ email: 'jane@acme.com', title: 'CEO' });
  const { data } = (await t.app.inject({ url: '/v1/events?order=stored', headers: t.auth })).json();
  expect(data.map(({ type }: { type: string }) => type)).toEqual(['lead.created', 'lead.enriched']);
  expect(data[0].data).toMatchObject({
    lead_id: made.id,
    previous: null,
    current: { id: made.id, title: '' },
  });
});

test('each person of a batch gets their own result, in the given order', async () => {
  const answer = await post(
    {
      leads: [
        { email: 'a@acme.com' },
        { emial: 'x' },
        { email: 'A@acme.com', name: 'Ann' },
        { signal_ids: ['sig_none'] },
        { email: 'a\0@acme.com' },
        null,
      ],
    },
    '/v1/leads/batch',
  );
  expect(answer.statusCode).toBe(200);
  const { results, ...counts } = answer.json().data;
  expect(counts).toEqual({ created: 1, merged: 1, rejected: 4 });
  expect(results.map((r: { index: number; status: string }) => [r.index, r.status])).toEqual([
    [0, 'created'],
    [1, 'rejected'],
    [2, 'merged'],
    [3, 'rejected'],
    [4, 'rejected'],
    [5, 'rejected'],
  ]);
  expect(results[2].lead_id).toBe(results[0].lead_id);
  expect(results[1]).toMatchObject({ lead_id: null, errors: [{ pointer: '/leads/1/emial' }] });
  expect(results[3].errors[0].pointer).toBe('/leads/3/signal_ids/0');
  expect(results[4].errors[0].pointer).toBe('/leads/4/email');
  expect(results[5].errors[0].pointer).toBe('/leads/5');
});

test('of several items about one person, however written, the first creates the lead', async () => {
  const spellings = [
    { email: 'jane@acme.com', linkedin_url: 'linkedin.com/in/jane', name: 'Jane Doe' },
    { linkedin_url: 'https://www.linkedin.com/in/Jane/' },
    { name: 'JANE DOE', company: { domain: 'acme.com' } },
    { email: 'Jane@Acme.com', tags: ['x'] },
  ];
  const leads = Array.from({ length: 60 }, (_, i) => spellings[i % 4]);
  const { results } = (await post({ leads }, '/v1/leads/batch')).json().data;
  expect(results[0].status).toBe('created');
  for (const result of results.slice(1)) {
    expect(result).toMatchObject({ status: 'merged', lead_id: results[0].lead_id });
  }
});

test('a batch item that matches two leads is rejected alone', async () => {
  await lead({ email: 'a@acme.com' });
  await lead({ email: 'b@acme.com', linkedin_url: 'linkedin.com/in/b' });
  const leads = [{ email: 'a@acme.com', linkedin_url: 'linkedin.com/in/b' }, { email: 'c@acme.com' }];
  const { results } = (await post({ leads }, '/v1/leads/batch')).json().data;
  expect(results).toMatchObject([
    { status: 'rejected', errors: [{ pointer: '/leads/0', detail: expect.stringContaining('led_') }] },
    { status: 'created' },
  ]);
});

test('50 concurrent requests that name a person at a company create one lead', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => post({ name: 'Jane Doe', company: { domain: 'acme.com' } })),
  );
  expect(answers.filter((answer) => answer.statusCode === 201)).toHaveLength(1);
  expect(new Set(answers.map((answer) => answer.json().data.id)).size).toBe(1);
});

test('a batch has 1 to 100 people', async () => {
  const full = Array.from({ length: 101 }, (_, i) => ({ email: `p${i}@acme.com` }));
  expect((await post({ leads: full }, '/v1/leads/batch')).json()).toMatchObject({
    status: 400,
    errors: [{ pointer: '/leads', detail: expect.stringContaining('at most 100') }],
  });
  expect((await post({ leads: [] }, '/v1/leads/batch')).statusCode).toBe(400);
  expect((await post({ leads: full.slice(1) }, '/v1/leads/batch')).json().data.created).toBe(100);
});

test.each([{}, { 'idempotency-key': 'k' }])(
  'a batch that takes too long ends with an error, and continues when it is sent again (%j)',
  async (headers) => {
    const slow = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
    onTestFinished(() => slow.app.close());
    const webhook = { url: 'http://127.0.0.1:9/hook', event_types: ['lead.created'] };
    await slow.app.inject({ method: 'POST', url: '/v1/webhooks', headers: slow.auth, payload: webhook });
    let commitMs = 0;
    slow.store.onCommitted(() => slow.clock.advance(commitMs));
    const leads = Array.from({ length: 9 }, (_, i) => ({
      email: `p${i}@acme.com`,
      signal: aPost({ external_id: `x${i}` }),
    }));
    const send = () =>
      slow.app.inject({
        method: 'POST',
        url: '/v1/leads/batch',
        headers: { ...slow.auth, ...headers },
        payload: { leads },
      });
    commitMs = 91_000;
    const late = await send();
    commitMs = 0;
    expect(late.statusCode).toBe(503);
    expect(late.json().detail).toContain('send it again to continue');
    expect(late.headers['retry-after']).toBe('1');
    const { created, merged, results } = (await send()).json().data;
    expect(created + merged).toBe(9);
    expect(new Set(results.map(({ lead_id }: { lead_id: string }) => lead_id)).size).toBe(9);
    const count = async (url: string) =>
      (await slow.app.inject({ url, headers: slow.auth })).json().data.length;
    expect(await count('/v1/leads?limit=100')).toBe(9);
    expect(await count('/v1/signals?limit=100')).toBe(9);
    expect(await count('/v1/events?type=lead.created&limit=100')).toBe(9);
  },
);

test('a lead at its limits accepts no more tags or fields', async () => {
  const many = (from: number) => Array.from({ length: 60 }, (_, i) => `t${from + i}`);
  await lead({ email: 'jane@acme.com', tags: many(0) });
  const answer = await post({ email: 'jane@acme.com', tags: many(60) });
  expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/tags' }] });
});

test('creating leads requires leads:write', async () => {
  const reader = await t.addKey({ scopes: ['leads:read', 'signals:write'] });
  for (const url of ['/v1/leads', '/v1/leads/batch']) {
    const answer = await post({ email: 'jane@acme.com' }, url, reader.auth);
    expect(answer.json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE', required_scope: 'leads:write' });
  }
});

test('a tenant matches only its own people and signals', async () => {
  const other = await t.addTenant();
  const mine = await lead({ email: 'jane@acme.com' });
  const theirs = await post({ email: 'jane@acme.com' }, '/v1/leads', other.auth);
  expect(theirs.statusCode).toBe(201);
  expect(theirs.json().data.id).not.toBe(mine.id);
  const [{ signal_id }] = (await post(aPost(), '/v1/signals')).json().data.signals;
  const taken = await post({ signal_ids: [signal_id] }, '/v1/leads', other.auth);
  expect(taken.json()).toMatchObject({ status: 400, errors: [{ pointer: '/signal_ids/0' }] });
});
