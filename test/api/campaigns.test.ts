import { afterEach, beforeEach, expect, test } from 'vitest';
import { campaignSchema } from '../../src/model/campaign.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { anEndpoint } from '../support/store.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

type Body = Record<string, unknown>;

function create(payload: Body = { name: 'Spring' }, headers = t.auth) {
  return t.app.inject({ method: 'POST', url: '/v1/campaigns', headers, payload });
}

function patch(id: string, payload: Body, headers = t.auth) {
  return t.app.inject({ method: 'PATCH', url: `/v1/campaigns/${id}`, headers, payload });
}

function get(url: string, headers = t.auth) {
  return t.app.inject({ url, headers });
}

async function created(payload?: Body): Promise<string> {
  const answer = await create(payload);
  expect(answer.statusCode).toBe(201);
  return answer.json().data.id;
}

const pointersOf = (answer: { json(): { errors: { pointer: string }[] } }) =>
  answer.json().errors.map((error) => error.pointer);

test('a campaign requires a name, starts as a draft, and returns its URL in Location', async () => {
  const answer = await create({ name: '  Spring  ' });
  expect(answer.statusCode).toBe(201);
  const { data } = answer.json();
  expect(campaignSchema.parse(data)).toEqual(data);
  expect(data).toMatchObject({
    id: expect.stringMatching(/^cam_/),
    name: 'Spring',
    description: '',
    channel: 'email',
    status: 'draft',
    steps: [],
    starts_at: null,
    started_at: null,
    completed_at: null,
    created_at: '2026-01-01T00:00:00.000Z',
  });
  expect(answer.headers.location).toBe(`https://signals.example.com/v1/campaigns/${data.id}`);
  expect((await get(`/v1/campaigns/${data.id}`)).json()).toEqual({ data });
});

test('every setting is returned, with times in UTC and steps in order', async () => {
  const answer = await create({
    name: 'Spring',
    description: 'Reconnect with heat-pump leads',
    channel: 'multichannel',
    steps: [
      { step: 2, name: 'Reminder' },
      { step: 1, name: 'Intro' },
    ],
    starts_at: '2026-03-01T09:00:00+01:00',
    ends_at: '2026-04-01T00:00:00Z',
    status: 'scheduled',
  });
  expect(answer.json().data).toMatchObject({
    description: 'Reconnect with heat-pump leads',
    channel: 'multichannel',
    steps: [
      { step: 1, name: 'Intro' },
      { step: 2, name: 'Reminder' },
    ],
    starts_at: '2026-03-01T08:00:00.000Z',
    ends_at: '2026-04-01T00:00:00.000Z',
    status: 'scheduled',
  });
});

test.each<[string, Body, string[]]>([
  ['no name', {}, ['/name']],
  ['an empty name', { name: ' ' }, ['/name']],
  ['a mistyped member', { name: 'A', descripton: '' }, ['/descripton']],
  ['an unknown status', { name: 'A', status: 'running' }, ['/status']],
  ['an unknown channel', { name: 'A', channel: 'fax' }, ['/channel']],
  ['a time without zone', { name: 'A', starts_at: '2026-03-01T09:00:00' }, ['/starts_at']],
  ['a time that no calendar reaches', { name: 'A', starts_at: '0000-01-01T00:00:00+14:00' }, ['/starts_at']],
  [
    'an end before the start',
    { name: 'A', starts_at: '2026-03-02T00:00:00Z', ends_at: '2026-03-01T00:00:00Z' },
    ['/ends_at'],
  ],
  [
    'a step numbered twice',
    {
      name: 'A',
      steps: [
        { step: 1, name: 'A' },
        { step: 1, name: 'B' },
      ],
    },
    ['/steps'],
  ],
])('%s is rejected with its pointer', async (_, payload, pointers) => {
  const answer = await create(payload);
  expect(answer.statusCode).toBe(400);
  expect(answer.json().code).toBe('INVALID_REQUEST');
  expect(pointersOf(answer)).toEqual(pointers);
  expect((await get('/v1/campaigns')).json().data).toEqual([]);
});

test('a patch changes only the members it contains', async () => {
  const id = await created({ name: 'Spring', description: 'Kept', starts_at: '2026-03-01T00:00:00Z' });
  const before = (await get(`/v1/campaigns/${id}`)).json().data;
  t.clock.advance(1_000);
  const answer = await patch(id, { name: 'Summer', starts_at: null });
  expect(answer.statusCode).toBe(200);
  expect(answer.json().data).toEqual({
    ...before,
    name: 'Summer',
    starts_at: null,
    updated_at: '2026-01-01T00:00:01.000Z',
  });
  expect((await get(`/v1/campaigns/${id}`)).json()).toEqual(answer.json());
});

test('a patch that changes nothing succeeds and keeps updated_at', async () => {
  const id = await created({ name: 'Spring', status: 'active' });
  t.clock.advance(1_000);
  for (const payload of [{}, { name: 'Spring' }, { status: 'active' }]) {
    const answer = await patch(id, payload);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data.updated_at).toBe('2026-01-01T00:00:00.000Z');
  }
});

test('a campaign moves from draft to completed and keeps when it started and ended', async () => {
  const id = await created();
  for (const status of ['scheduled', 'active', 'paused', 'active', 'completed']) {
    t.clock.advance(1_000);
    const answer = await patch(id, { status });
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data.status).toBe(status);
  }
  expect((await get(`/v1/campaigns/${id}`)).json().data).toMatchObject({
    started_at: '2026-01-01T00:00:02.000Z',
    completed_at: '2026-01-01T00:00:05.000Z',
    status_changed_at: '2026-01-01T00:00:05.000Z',
  });
});

test('an invalid transition changes nothing, rejects the whole patch, and lists the valid ones', async () => {
  const id = await created();
  const answer = await patch(id, { name: 'Other', status: 'paused' });
  expect(answer.statusCode).toBe(422);
  expect(answer.json()).toMatchObject({
    code: 'INVALID_TRANSITION',
    hint: 'From "draft" a campaign can become "scheduled", "active", "completed".',
    errors: [{ pointer: '/status' }],
  });
  expect((await get(`/v1/campaigns/${id}`)).json().data).toMatchObject({ name: 'Spring', status: 'draft' });
  await patch(id, { status: 'completed' });
  expect((await patch(id, { status: 'active' })).json().hint).toContain('final');
});

test('concurrent changes all apply, one on top of the other', async () => {
  const id = await created();
  const patches = [{ name: 'Summer' }, { description: 'Warm' }, { channel: 'sms' }, { status: 'active' }];
  const answers = await Promise.all(patches.map((payload) => patch(id, payload)));
  expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200, 200, 200]);
  const { data } = (await get(`/v1/campaigns/${id}`)).json();
  expect(data).toMatchObject(Object.assign({}, ...patches));
});

test('starting a campaign many times at once fires one event', async () => {
  const id = await created();
  const endpoint = anEndpoint(t.tenant.id, {
    settings: webhookInputSchema.parse({
      url: 'https://r.example.com/',
      event_types: ['campaign.status_changed'],
    }),
  });
  await t.store.createEndpoint(endpoint, null);
  const answers = await Promise.all(Array.from({ length: 50 }, () => patch(id, { status: 'active' })));
  expect(new Set(answers.map((answer) => answer.statusCode))).toEqual(new Set([200]));
  expect(t.nudged).toHaveLength(1);
});

test('of two concurrent transitions that exclude each other one is rejected', async () => {
  const id = await created({ name: 'Spring', status: 'scheduled' });
  const answers = await Promise.all([patch(id, { status: 'completed' }), patch(id, { status: 'active' })]);
  const codes = answers.map((answer) => answer.statusCode).sort();
  const { status } = (await get(`/v1/campaigns/${id}`)).json().data;
  // Once completed, the other is invalid; active first still allows completed.
  expect(codes).toEqual(answers[0]?.json().data?.started_at === null ? [200, 422] : [200, 200]);
  expect(status).toBe('completed');
});

test('a campaign cannot be created in a status that a draft cannot move to', async () => {
  const answer = await create({ name: 'Spring', status: 'paused' });
  expect(answer.statusCode).toBe(422);
  expect((await get('/v1/campaigns')).json().data).toEqual([]);
});

test('the list is newest first, filtered by status, and paginated', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    t.clock.advance(1);
    ids.unshift(await created({ name: `C${i}`, status: i % 2 === 0 ? 'active' : 'draft' }));
  }
  const seen: string[] = [];
  let url: string | null = '/v1/campaigns?limit=2';
  while (url !== null) {
    const answer: Awaited<ReturnType<typeof get>> = await get(url);
    seen.push(...answer.json().data.map((row: { id: string }) => row.id));
    await created({ name: 'Meanwhile' });
    url = /<https:\/\/signals\.example\.com([^>]+)>/.exec(String(answer.headers.link))?.[1] ?? null;
  }
  expect(seen).toEqual(ids);
  const names = async (query: string) =>
    (await get(`/v1/campaigns?${query}`)).json().data.map((row: { name: string }) => row.name);
  expect(await names('status=active')).toEqual(['C4', 'C2', 'C0']);
  expect(await names('status=active,paused')).toEqual(['C4', 'C2', 'C0']);
  expect(await names('status=paused')).toEqual([]);
});

test('invalid query parameters of the list are reported', async () => {
  for (let i = 0; i < 3; i++) await created();
  const { next_cursor } = (await get('/v1/campaigns?limit=1')).json().pagination;
  expect((await get('/v1/campaigns?statu=draft')).json()).toMatchObject({
    code: 'UNKNOWN_PARAMETER',
    errors: [{ parameter: 'statu', detail: expect.stringContaining('"status"') }],
  });
  expect((await get('/v1/campaigns?status=running')).json().code).toBe('INVALID_REQUEST');
  expect((await get(`/v1/campaigns?status=draft&cursor=${next_cursor}`)).json().code).toBe('INVALID_CURSOR');
  const other = await t.addTenant();
  expect((await get(`/v1/campaigns?cursor=${next_cursor}`, other.auth)).json().code).toBe('INVALID_CURSOR');
});

test("another tenant's campaign is 404 to read and to change, and is not listed", async () => {
  const id = await created();
  const { auth } = await t.addTenant();
  for (const answer of [await get(`/v1/campaigns/${id}`, auth), await patch(id, { name: 'Mine' }, auth)]) {
    expect(answer.statusCode).toBe(404);
    expect(answer.json().code).toBe('NOT_FOUND');
  }
  expect((await get('/v1/campaigns', auth)).json().data).toEqual([]);
  expect((await get(`/v1/campaigns/${id}`)).json().data.name).toBe('Spring');
});

test('reading requires campaigns:read, writing campaigns:write', async () => {
  const id = await created();
  const reader = await t.addKey({ scopes: ['campaigns:read'] });
  const stranger = await t.addKey({ scopes: ['leads:write'] });
  expect((await get('/v1/campaigns', reader.auth)).statusCode).toBe(200);
  expect((await get(`/v1/campaigns/${id}`, reader.auth)).statusCode).toBe(200);
  for (const answer of [await create(undefined, reader.auth), await patch(id, {}, reader.auth)]) {
    expect(answer.json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE', required_scope: 'campaigns:write' });
  }
  for (const url of ['/v1/campaigns', `/v1/campaigns/${id}`]) {
    expect((await get(url, stranger.auth)).json().required_scope).toBe('campaigns:read');
  }
});
