import { afterEach, beforeEach, expect, test } from 'vitest';
import { highlight } from '../../src/dashboard/signals.ts';
import { aPost, BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';

const XSS = '"><script>alert(1)</script>';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function post(overrides = {}, auth = made.auth) {
  const request = { method: 'POST', url: '/v1/signals', headers: auth, payload: aPost(overrides) } as const;
  const answer = await made.app.inject(request);
  expect(answer.statusCode).toBe(201);
  return answer.json().data.signals[0];
}

test('the feed lists posts, and can be filtered, searched and paginated', async () => {
  expect((await browser.get('/dashboard/signals')).body).toContain('No signals yet');
  for (let i = 0; i < 30; i++) {
    made.clock.advance(1_000);
    const name = i === 7 ? 'Zaphod Beeblebrox' : `Person ${i}`;
    await post({ external_id: `x${i}`, platform: { name: 'reddit' }, prospect: { name } });
  }
  const first = await browser.get('/dashboard/signals');
  expect(first.body).toContain('Person 29');
  expect(first.body).not.toContain('Person 1 ');
  const [, next = ''] = /href="([^"]+)">Older/.exec(first.body) ?? [];
  expect((await browser.get(next.replaceAll('&amp;', '&'))).body).toContain('Person 1 ');
  const found = await browser.get('/dashboard/signals?q=beeblebrox&sort=-icp_score&from=2025-01-01T00:00');
  expect(found.body.match(/data-row/g)?.length).toBe(1);
  expect((await browser.get('/dashboard/signals?platform=lemmy')).body).toContain('No signals match');
  expect((await browser.get('/dashboard/signals?cursor=x')).statusCode).toBe(400);
});

test('profile_url opens the signal: text with evidence, points that add up, and its deliveries', async () => {
  const company = { name: 'Acme', domain: 'acme.example' };
  const signal = await post({ prospect: { name: 'Jane', email: 'jane@acme.example' }, company });
  const path = signal.profile_url.slice(BASE_URL.length);
  const page = await browser.get(path);
  expect(page.statusCode).toBe(200);
  expect(page.body).toMatch(/<mark>[^<]+<\/mark>/);
  expect(page.body).toContain(`How ${signal.icp_score} points add up`);
  expect(page.body).toContain('<h3>New signal</h3>');
  expect(page.body).toMatch(/href="\/dashboard\/companies\/cmp_\w+">acme\.example</);
  const shown = [...page.body.matchAll(/<strong>\+?(-?\d+)</g)].map(([, n]) => Number(n));
  expect(shown.reduce((sum, n) => sum + n, 0)).toBe(signal.icp_score);
  expect((await made.app.inject(path)).headers.location).toBe(
    `/dashboard/login?next=${encodeURIComponent(path)}`,
  );
});

test('feedback on a signal is stored, and one click turns it into a lead', async () => {
  const { signal_id: id } = await post({ prospect: { name: 'Jane', email: 'jane@acme.example' } });
  const page = `/dashboard/signals/${id}`;
  await browser.post(`${page}/feedback`, { relevant: 'no', reason: 'a student' }, page);
  expect(await made.store.getFeedback(made.tenant.id, id)).toMatchObject({
    relevant: false,
    reason: 'a student',
  });
  expect((await browser.get(page)).body).toContain('not relevant');
  const added = await browser.post(`${page}/lead`, {}, page);
  expect(added.headers.location).toBe(`${page}?done=added`);
  expect((await browser.get(page)).body).toMatch(/\/dashboard\/leads\/led_\w+/);
  const again = await browser.post(`${page}/lead`, {}, page);
  expect(again.headers.location).toBe(`${page}?done=added`);
  expect((await browser.get(page)).body.match(/In the pipeline/g)?.length).toBe(1);
});

test('text by strangers is escaped', async () => {
  const { signal_id: id } = await post({
    text: `We are looking for a CRM ${XSS} any recommendations?`,
    platform: { name: 'forum' },
    prospect: { name: XSS, title: XSS },
    company: { name: XSS, industry: XSS, location: XSS },
  });
  for (const path of [
    '/dashboard/signals',
    `/dashboard/signals?q=${encodeURIComponent(XSS)}`,
    `/dashboard/signals/${id}`,
  ]) {
    const { body } = await browser.get(path);
    expect(body).not.toContain('<script>alert');
    expect(body).not.toContain('href="javascript:');
  }
  expect((await browser.get(`/dashboard/signals/${id}`)).body).toContain('&lt;script&gt;alert');
});

test('an invalid filter of the inbox is named, and the others apply', async () => {
  await post({});
  const { body } = await browser.get('/dashboard/signals?state=purple&classification=blue&min_score=200');
  for (const name of ['state', 'classification', 'min_score'])
    expect(body).toMatch(new RegExp(`Ignored filters:[^<]*&quot;${name}&quot; must be`));
  expect(body).toContain('data-row');
});

test("another tenant's signal is not found", async () => {
  const { auth } = await made.addTenant();
  const { signal_id: id } = await post({}, auth);
  expect((await browser.get(`/dashboard/signals/${id}`)).statusCode).toBe(404);
  for (const act of ['feedback', 'lead']) {
    const answer = await browser.post(`/dashboard/signals/${id}/${act}`, { relevant: 'yes' }, '/dashboard');
    expect([act, answer.statusCode]).toEqual([act, 404]);
  }
});

test('evidence is cut by code points, at any offset', () => {
  const marks = [
    { start: 2, end: 4 },
    { start: 0, end: 1 },
    { start: 3, end: 99 },
  ];
  expect(highlight('😀a😀bc', marks)).toEqual([
    { text: '😀', marked: true },
    { text: 'a', marked: false },
    { text: '😀b', marked: true },
    { text: 'c', marked: true },
  ]);
  expect(highlight('plain', [])).toEqual([{ text: 'plain', marked: false }]);
});
