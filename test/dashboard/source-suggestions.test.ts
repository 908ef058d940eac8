import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { memberSignedIn, signedIn, type TestBrowser } from './browser-session.ts';

const PAGE = '/dashboard/sources/suggested';
const NAME = 'Hacker News: Zendesk alternative';

let made: TestApp;
let browser: TestBrowser;
let icp: string;
let asked: unknown[] = [];
beforeEach(async () => {
  asked = [];
  made = await buildTestApp({
    async previewSource(tenantId, profileId, { kind }) {
      asked.push([tenantId, profileId, kind]);
      return { read: 41, matched: 3, best: 'Which help desk do you use?' };
    },
  });
  browser = await signedIn(made, made.tenant.id);
  const payload = {
    name: 'Shops',
    offer: 'Help desk for online shops',
    competitors: ['Zendesk'],
    phrases: ['help desk'],
  };
  const post = { method: 'POST' as const, url: '/v1/icps', headers: made.auth, payload };
  icp = (await made.app.inject(post)).json().data.id;
});
afterEach(() => made.app.close());

const sources = async () => (await made.app.inject({ url: '/v1/sources', headers: made.auth })).json().data;

test('places that fit the profile are shown, and one click turns one into a source for that profile', async () => {
  const { body } = await browser.get(PAGE);
  expect(body).toContain(NAME);
  expect(body.match(/<li class="card">/g)).toHaveLength(6);
  const added = await browser.post(PAGE, { icp, place: NAME }, PAGE);
  expect(added.headers.location).toBe(`${PAGE}?icp=${icp}&done=source-added`);
  expect(await sources()).toMatchObject([
    { kind: 'hackernews', name: NAME, query: 'Zendesk alternative', icp_profile_ids: [icp] },
  ]);
  expect((await browser.get(String(added.headers.location))).body).not.toContain(`value="${NAME}"`);
});

test('a preview shows what the last 24 hours would have returned', async () => {
  const { body } = await browser.post(PAGE, { icp, place: NAME, act: 'preview' }, PAGE);
  expect(body).toContain('Would have brought 3 of 41 posts in the last 24 hours.');
  expect(body).toContain('Which help desk do you use?');
  expect(asked).toEqual([[made.tenant.id, icp, 'hackernews']]);
  expect(await sources()).toEqual([]);
});

test('a subreddit leads to the form, because it needs the user’s own app; a place never suggested is 404', async () => {
  const { body } = await browser.get(PAGE);
  const [, link = '', name = ''] =
    /href="(\/dashboard\/sources\/new\?place=r%2F(\w+)[^"]+)"/.exec(body) ?? [];
  const form = (await browser.get(link.replaceAll('&amp;', '&'))).body;
  expect(form).toMatch(/<option value="reddit" selected>Reddit/);
  expect(form).toContain('reddit.com/prefs/apps');
  for (const filled of [`value="r/${name}"`, `value="${name}"`, `value="${icp}" checked`])
    expect(form).toContain(filled);
  for (const place of ['r/SaaS', 'nowhere']) {
    expect((await browser.post(PAGE, { icp, place }, PAGE)).statusCode).toBe(404);
  }
});

test("another tenant's profile is not found, and a reader cannot add anything", async () => {
  const other = await made.addTenant();
  const [theirs] = await made.store.listProfiles(other.tenant.id);
  const answer = await browser.post(PAGE, { icp: theirs?.id ?? '', place: NAME }, PAGE);
  expect(answer.statusCode).toBe(404);
  const reader = await memberSignedIn(made, { email: 'reader@example.com', role: 'reader' });
  expect((await reader.get(PAGE)).body).not.toContain('Add source<');
});

test('an unreadable place is reported as such, and cannot be added', async () => {
  const NEW = '/dashboard/sources/new';
  const { body } = await browser.post(
    NEW,
    { act: 'guess', place: 'https://www.linkedin.com/company/acme' },
    NEW,
  );
  expect(body).toContain('LinkedIn does not let programs read its posts');
  expect(body).not.toContain('Add source');
});

test('Bluesky, which is read live, has no preview of the last day', async () => {
  const payload = { name: 'Repairs', offer: 'Plumbing repairs', phrases: ['plumber'] };
  const post = { method: 'POST' as const, url: '/v1/icps', headers: made.auth, payload };
  const { id } = (await made.app.inject(post)).json().data;
  const cards = (await browser.get(`${PAGE}?icp=${id}`)).body.split('<li class="card">').slice(1);
  const bluesky = cards.find((card) => card.includes('Bluesky: need a plumber'));
  expect(bluesky).toContain('Add source');
  expect(bluesky).not.toContain('Preview 24 hours');
});
