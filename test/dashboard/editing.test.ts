import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { guessSource } from '../../src/dashboard/source-form.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';
import { formFields } from './form-fields.ts';
import { HOSTILE, isHarmless, postSignal } from './hostile.ts';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function create(url: string, payload: object): Promise<string> {
  const answer = await made.app.inject({ method: 'POST', url, headers: made.auth, payload });
  expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
  return answer.json().data.id;
}

async function read(url: string) {
  return (await made.app.inject({ url, headers: made.auth })).json().data;
}

async function edit(page: string, changes: Record<string, string>) {
  const fields = formFields((await browser.get(page)).body, '/edit');
  return browser.post(page, { ...fields, ...changes });
}

test('a lead can be edited: facts, tags and custom fields; saving it unmodified changes nothing', async () => {
  const id = await create('/v1/leads', {
    email: 'ann@acme.example',
    name: 'Ann Lee',
    tags: ['north'],
    custom_fields: { region: 'north', seats: 4 },
  });
  const page = `/dashboard/leads/${id}/edit`;
  const before = await read(`/v1/leads/${id}`);
  await edit(page, {});
  expect(await read(`/v1/leads/${id}`)).toEqual(before);
  const saved = await edit(page, {
    title: 'CEO',
    tags: 'north, big',
    custom_fields: 'seats = 5',
    company_name: 'Acme',
  });
  expect(saved.headers.location).toBe(`/dashboard/leads/${id}?done=saved`);
  expect(await read(`/v1/leads/${id}`)).toMatchObject({
    ...{ name: 'Ann Lee', title: 'CEO', tags: ['north', 'big'], custom_fields: { seats: 5 } },
    company: { name: 'Acme' },
  });
  const refused = await edit(page, { email: 'nobody', title: HOSTILE });
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain('value="nobody"');
  isHarmless(refused.body);
});

test('facts set for a company override observed ones, until they are cleared', async () => {
  await postSignal(made, {
    text: 'Can anyone recommend a CRM?',
    company: { name: 'Acme', domain: 'acme.example', industry: 'HVAC' },
  });
  const { id } = await read('/v1/companies/acme.example');
  const page = `/dashboard/companies/${id}/edit`;
  expect((await browser.get(page)).body).toContain('Found in a signal: HVAC');
  await edit(page, { industry: 'Plumbing' });
  expect(await read(`/v1/companies/${id}`)).toMatchObject({ name: 'Acme', industry: 'Plumbing' });
  await edit(page, { industry: '' });
  expect(await read(`/v1/companies/${id}`)).toMatchObject({ name: 'Acme', industry: 'HVAC' });
  expect((await edit(page, { linkedin_url: 'javascript:alert(1)' })).statusCode).toBe(400);
});

test('a source can be edited, an empty field keeps its secret, and its runs are shown', async () => {
  const id = await create('/v1/sources', { kind: 'github', name: 'Issues', query: 'crm', token: 'abc' });
  const page = `/dashboard/sources/${id}/edit`;
  expect((await browser.get(page)).body).not.toContain('abc');
  const saved = await edit(page, { query: 'erp', interval: '30' });
  expect(saved.headers.location).toBe(`/dashboard/sources/${id}?done=saved`);
  expect(await read(`/v1/sources/${id}`)).toMatchObject({
    ...{ name: 'Issues', query: 'erp', interval_seconds: 1800, secrets: ['token'] },
  });
  expect((await edit(page, { name: '' })).statusCode).toBe(400);
  expect((await browser.get(`/dashboard/sources/${id}`)).body).toContain('No runs yet');
});

test('those of another tenant are not found', async () => {
  const { auth } = await made.addTenant();
  const lead = await made.app.inject({
    ...{ method: 'POST', url: '/v1/leads', headers: auth, payload: { email: 'x@y.example' } },
  });
  const source = await made.app.inject({
    ...{ method: 'POST', url: '/v1/sources', headers: auth },
    payload: { kind: 'hackernews', name: 'Theirs', query: 'crm' },
  });
  for (const path of [
    `leads/${lead.json().data.id}`,
    `sources/${source.json().data.id}`,
    'companies/y.example',
  ]) {
    const page = `/dashboard/${path}/edit`;
    expect([page, (await browser.get(page)).statusCode]).toEqual([page, 404]);
    expect([page, (await browser.post(page, { name: 'Mine' }, '/dashboard')).statusCode]).toEqual([
      page,
      404,
    ]);
  }
});

describe('a new source is filled in', () => {
  test.each([
    ['https://example.com/feed.xml', { kind: 'rss', url: 'https://example.com/feed.xml' }],
    ['boards.greenhouse.io/acme', { kind: 'greenhouse', board: 'acme' }],
    ['https://www.reddit.com/r/hvac/new/', { kind: 'reddit', subreddit: 'hvac' }],
    [
      'https://stackoverflow.com/questions/tagged/crm',
      { kind: 'stackexchange', site: 'stackoverflow', tagged: 'crm' },
    ],
    [
      'https://mastodon.example/tags/heating',
      { kind: 'mastodon', url: 'https://mastodon.example', tag: 'heating' },
    ],
    ['heat pump installers', { kind: 'hackernews', query: 'heat pump installers' }],
    ['https://github.com/search?type=issues&q=crm+import', { kind: 'github', query: 'crm import' }],
    ['https://%', { kind: 'hackernews' }],
    ['r/SaaS', { kind: 'reddit', subreddit: 'SaaS', name: 'r/SaaS' }],
    ['/r/SaaS/', { kind: 'reddit', subreddit: 'SaaS' }],
    ['#heatpump', { kind: 'mastodon', tag: 'heatpump' }],
    ['https://github.com/acme/app', { kind: 'github', query: 'repo:acme/app' }],
    ['community.n8n.io/c/questions', { kind: 'discourse', url: 'https://community.n8n.io' }],
    ['https://lemmy.world', { kind: 'lemmy', url: 'https://lemmy.world' }],
  ])('from %s', (typed, expected) => {
    expect(guessSource(typed).form).toMatchObject(expected);
  });

  test.each(['https://www.linkedin.com/feed/', 'facebook.com/groups/hvac', 'https://x.com/acme'])(
    'not from %s, which programs may not read: it says so, and how to import its posts',
    async (place) => {
      const { body } = await browser.post('/dashboard/sources/new', { act: 'guess', place });
      expect(body).toContain('does not let programs read its posts');
      expect(body).toContain('POST /v1/signals');
      const wish = { kind: 'rss', name: 'Closed', url: `https://${place.replace('https://', '')}` };
      const made1 = { method: 'POST' as const, url: '/v1/sources', headers: made.auth, payload: wish };
      expect((await made.app.inject(made1)).json().errors[0].detail).toContain('POST /v1/signals');
    },
  );

  test('on its screen, without storing anything', async () => {
    const page = '/dashboard/sources/new';
    const filled = await browser.post(page, { act: 'guess', place: 'heat pumps' });
    expect(filled.body).toContain('value="heat pumps"');
    expect(filled.body).toContain('<option value="hackernews" selected>');
    expect(await read('/v1/sources')).toEqual([]);
  });
});
