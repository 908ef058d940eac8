import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_WEIGHTS } from '../../src/model/constants.ts';
import { icpSchema } from '../../src/model/icp.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
function call(method: Method, url: string, payload?: object, headers: Record<string, string> = t.auth) {
  return t.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
}

async function make(payload: object = { name: 'CRM' }) {
  return (await call('POST', '/v1/icps', payload)).json().data;
}

async function defaultId(): Promise<string> {
  const { data } = (await call('GET', '/v1/icps')).json();
  return data.find((profile: { name: string }) => profile.name === 'Default').id;
}

const WHOLE = {
  name: 'CRM alternatives',
  description: 'Sales teams that outgrow a sheet',
  offer: 'A simple CRM for small sales teams',
  phrases: ['CRM', 'sales pipeline'],
  excluded_phrases: ['class project'],
  competitors: ['HubSpot'],
  industries: ['Software'],
  titles: ['Head of Sales'],
  headcount_ranges: [
    { min: 11, max: 50 },
    { min: 201, max: null },
  ],
  locations: ['UK'],
  signal_types: ['intent_post', 'qa_forum'],
  weights: { intent: 10, topic: 30, urgency: 10, budget: 10, pain: 0, fit: 12.5 },
  thresholds: { hot: 80, warm: 50 },
  active: false,
};

test('a profile is returned as it was created', async () => {
  const answer = await call('POST', '/v1/icps', WHOLE);
  expect(answer.statusCode).toBe(201);
  const { data } = answer.json();
  const now = '2026-01-01T00:00:00.000Z';
  expect(data).toEqual({ id: expect.stringMatching(/^icp_/), ...WHOLE, created_at: now, updated_at: now });
  expect(answer.headers.location).toBe(`https://signals.example.com/v1/icps/${data.id}`);
  expect((await call('GET', `/v1/icps/${data.id}`)).json()).toEqual({ data });
});

test('a new tenant has one profile, and omitted settings impose no conditions', async () => {
  const [first] = (await call('GET', '/v1/icps')).json().data;
  expect(icpSchema.parse(first)).toMatchObject({ name: 'Default', active: true, weights: DEFAULT_WEIGHTS });
  expect(await make({ name: 'Bare' })).toMatchObject({
    description: '',
    offer: '',
    phrases: [],
    headcount_ranges: [],
    signal_types: [],
    weights: DEFAULT_WEIGHTS,
    thresholds: { hot: 70, warm: 40 },
    active: true,
  });
});

test('lists are deduplicated, and ranges may be given as strings', async () => {
  const profile = await make({
    name: 'x',
    phrases: [' Café ', 'cafe', 'CRM'],
    headcount_ranges: ['11-50', ' 51 – 200 ', '201+', '7', { min: 1 }],
    weights: { intent: 0 },
    thresholds: { hot: 90 },
  });
  expect(profile).toMatchObject({
    phrases: ['Café', 'CRM'],
    headcount_ranges: [
      { min: 11, max: 50 },
      { min: 51, max: 200 },
      { min: 201, max: null },
      { min: 7, max: 7 },
      { min: 1, max: null },
    ],
    weights: { ...DEFAULT_WEIGHTS, intent: 0 },
    thresholds: { hot: 90, warm: 40 },
  });
});

const long = (count: number) => Array.from({ length: count }, (_, i) => `phrase ${i}`);
test.each<[string, object, string]>([
  ['no name', {}, '/name'],
  ['an empty name', { name: ' ' }, '/name'],
  ['a long name', { name: 'x'.repeat(101) }, '/name'],
  ['a long description', { name: 'x', description: 'x'.repeat(2_001) }, '/description'],
  ['too many phrases', { name: 'x', phrases: long(201) }, '/phrases'],
  ['a phrase of signs', { name: 'x', phrases: ['ok', '***'] }, '/phrases/1'],
  ['a long phrase', { name: 'x', excluded_phrases: ['x'.repeat(101)] }, '/excluded_phrases/0'],
  ['too many competitors', { name: 'x', competitors: long(101) }, '/competitors'],
  ['text for a list', { name: 'x', titles: 'CEO' }, '/titles'],
  ['a range that ends before it begins', { name: 'x', headcount_ranges: ['50-11'] }, '/headcount_ranges/0'],
  ['a range that is none', { name: 'x', headcount_ranges: [{ min: -1, max: 5 }] }, '/headcount_ranges/0/min'],
  ['a weight below 0', { name: 'x', weights: { fit: -1 } }, '/weights/fit'],
  ['an unknown weight', { name: 'x', weights: { luck: 1 } }, '/weights/luck'],
  [
    'no weight at all',
    { name: 'x', weights: { intent: 0, topic: 0, urgency: 0, budget: 0, pain: 0, fit: 0 } },
    '/weights',
  ],
  ['a threshold over 100', { name: 'x', thresholds: { hot: 101 } }, '/thresholds/hot'],
  ['warm that is not below hot', { name: 'x', thresholds: { hot: 40, warm: 40 } }, '/thresholds'],
  ['hot below the warm that is there', { name: 'x', thresholds: { hot: 30 } }, '/thresholds'],
  ['an unknown member', { name: 'x', phrase: ['crm'] }, '/phrase'],
])('%s is rejected with its pointer', async (_, payload, pointer) => {
  const answer = await call('POST', '/v1/icps', payload);
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer }] });
});

test('an update changes only the members it contains', async () => {
  const profile = await make(WHOLE);
  t.clock.advance(1_000);
  const change = { phrases: [], weights: { pain: 5 }, thresholds: { warm: 10 }, active: true };
  const answer = await call('PATCH', `/v1/icps/${profile.id}`, change);
  expect(answer.json().data).toEqual({
    ...profile,
    phrases: [],
    weights: { ...WHOLE.weights, pain: 5 },
    thresholds: { hot: 80, warm: 10 },
    active: true,
    updated_at: '2026-01-01T00:00:01.000Z',
  });
  const refused = await call('PATCH', `/v1/icps/${profile.id}`, { thresholds: { warm: 80 } });
  expect(refused.json().errors[0].pointer).toBe('/thresholds');
  expect((await call('GET', `/v1/icps/${profile.id}`)).json().data).toEqual(answer.json().data);
});

test('no concurrent change is lost', async () => {
  const { id } = await make();
  const changes = [{ phrases: ['crm'] }, { titles: ['CEO'] }, { locations: ['UK'] }, { weights: { fit: 1 } }];
  const answers = await Promise.all(changes.map((change) => call('PATCH', `/v1/icps/${id}`, change)));
  expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200, 200, 200]);
  const { data } = (await call('GET', `/v1/icps/${id}`)).json();
  expect(data).toMatchObject({ phrases: ['crm'], titles: ['CEO'], locations: ['UK'], weights: { fit: 1 } });
});

test('names are unique regardless of case on create and update, but not across tenants', async () => {
  const { id } = await make({ name: 'CRM' });
  const again = await call('POST', '/v1/icps', { name: 'crm' });
  expect([again.statusCode, again.json().code]).toEqual([409, 'CONFLICT']);
  const renamed = await call('PATCH', `/v1/icps/${await defaultId()}`, { name: 'Crm' });
  expect([renamed.statusCode, renamed.json().code]).toEqual([409, 'CONFLICT']);
  expect((await call('PATCH', `/v1/icps/${id}`, { name: 'Crm' })).json().data.name).toBe('Crm');
  const { auth } = await t.addTenant();
  expect((await call('POST', '/v1/icps', { name: 'CRM' }, auth)).statusCode).toBe(201);
});

test('a deleted profile is gone, and its signals stay readable', async () => {
  const { id } = await make({ name: 'Gone' });
  const post = await call('POST', '/v1/signals', aPost({ icp_profile_id: id }));
  const signal = post.json().data.signals[0];
  const answer = await call('DELETE', `/v1/icps/${id}`);
  expect([answer.statusCode, answer.body]).toEqual([204, '']);
  expect((await call('DELETE', `/v1/icps/${id}`)).json().code).toBe('NOT_FOUND');
  expect((await call('GET', `/v1/icps/${id}`)).json().code).toBe('NOT_FOUND');
  expect((await call('GET', `/v1/signals/${signal.signal_id}`)).json().data).toMatchObject(signal);
  expect((await call('GET', `/v1/signals?icp=${id}`)).json().data).toEqual([signal]);
  expect((await call('GET', '/v1/signals?icp=gone')).json().data).toEqual([signal]);
  const again = await call('POST', '/v1/signals', aPost({ icp_profile_id: id }));
  expect(again.json().errors[0].pointer).toBe('/icp_profile_id');
});

test('the last profile cannot be deleted', async () => {
  const answer = await call('DELETE', `/v1/icps/${await defaultId()}`);
  expect([answer.statusCode, answer.json().code]).toEqual([409, 'CONFLICT']);
});

test('an inactive profile matches no new posts', async () => {
  await make({ name: 'Off', phrases: ['CRM'], active: false });
  const { signals } = (await call('POST', '/v1/signals', aPost())).json().data;
  expect(signals.map((signal: { icp_profile_name: string }) => signal.icp_profile_name)).toEqual(['Default']);
});

test('a post that matches two profiles creates two signals, each with its own thresholds', async () => {
  await make({ name: 'Strict', phrases: ['CRM'], thresholds: { hot: 100, warm: 50 } });
  const { signals } = (await call('POST', '/v1/signals', aPost())).json().data;
  const classes = signals.map((s: { icp_profile_name: string; classification: string }) => [
    s.icp_profile_name,
    s.classification,
  ]);
  expect(Object.fromEntries(classes)).toEqual({ Default: 'hot', Strict: 'warm' });
});

test('the list is paginated', async () => {
  const ids = [await defaultId()];
  for (let i = 0; i < 3; i++) ids.push((await make({ name: `${i}` })).id);
  const first = (await call('GET', '/v1/icps?limit=3')).json();
  const second = (await call('GET', `/v1/icps?limit=3&cursor=${first.pagination.next_cursor}`)).json();
  const seen = [...first.data, ...second.data].map((profile: { id: string }) => profile.id);
  expect(seen.sort()).toEqual(ids.sort());
  expect(second.pagination).toEqual({ next_cursor: null, has_more: false, limit: 3 });
});

test('profiles require their scope and are invisible to other tenants', async () => {
  const { id } = await make();
  const { auth: reader } = await t.addKey({ scopes: ['icps:read'] });
  const { auth: none } = await t.addKey({ scopes: ['signals:write'] });
  const { auth: other } = await t.addTenant();
  const scoped = await call('GET', '/v1/icps', undefined, none);
  expect(scoped.json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE', required_scope: 'icps:read' });
  for (const [method, url, payload] of [
    ['POST', '/v1/icps', { name: 'y' }],
    ['PATCH', `/v1/icps/${id}`, { name: 'y' }],
    ['DELETE', `/v1/icps/${id}`, undefined],
  ] as const) {
    expect((await call(method, url, payload, reader)).json()).toMatchObject({ required_scope: 'icps:write' });
    if (method !== 'POST') expect((await call(method, url, payload, other)).json().code).toBe('NOT_FOUND');
  }
  expect((await call('GET', `/v1/icps/${id}`, undefined, other)).json().code).toBe('NOT_FOUND');
  expect((await call('GET', `/v1/icps/${id}`, undefined, reader)).json().data.name).toBe('CRM');
});
