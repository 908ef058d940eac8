import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, memberSignedIn, signedIn, TestBrowser } from './browser-session.ts';

/** What is one's own, and what needs no session: changes that are not the account's. */
const OWN = /^\/dashboard\/(settings\/(account\/|digest\/mine$)|log|setup$|reset$)/;
/** What owners alone change. */
const OWNERS = /^\/dashboard\/settings\/((team|api-keys|plan)(\/|$)|digest$)/;

let made: TestApp;
let changes: string[];
beforeAll(async () => {
  made = await buildTestApp();
  changes = made.routes
    .filter(
      ({ method, url }) => url.startsWith('/dashboard/') && !['GET', 'HEAD', 'OPTIONS'].includes(method),
    )
    .map(({ method, url }) => `${method} ${url.replaceAll(/:\w+/g, 'none')}`);
});
afterAll(() => made.app.close());

/** Sends each of the changes as a form with `fields`; the paths whose answer is not a 403. */
async function notRefused(browser: TestBrowser, fields: Record<string, string>, headers = {}) {
  const passed = [];
  for (const change of changes) {
    const [method, url = ''] = change.split(' ');
    expect(method, `${change} is sent as forms are`).toBe('POST');
    const { statusCode } = await browser.send(url, fields, headers);
    if (statusCode !== 403) passed.push(url);
  }
  return passed;
}

test('there are changes of every kind to be refused', () => {
  expect(changes.length).toBeGreaterThan(40);
});

test('without our token, or from another site, no change is taken from anybody', async () => {
  const browser = await signedIn(made, made.tenant.id);
  const token = csrfOf((await browser.get('/dashboard')).body);
  expect(await notRefused(browser, {})).toEqual([]);
  expect(await notRefused(browser, { _csrf: token }, { origin: 'https://evil.example' })).toEqual([]);
  expect(await notRefused(browser, { _csrf: token }, { 'sec-fetch-site': 'cross-site' })).toEqual([]);
});

test('a reader changes nothing but what is their own, and hears who can', async () => {
  const browser = await memberSignedIn(made, { email: 'reader@example.com', role: 'reader' });
  const token = csrfOf((await browser.get('/dashboard')).body);
  changes = changes.filter((change) => !change.endsWith('/logout'));
  const passed = await notRefused(browser, { _csrf: token });
  expect(passed.filter((url) => !OWN.test(url))).toEqual([]);
  expect(passed.filter((url) => url.includes('/account/')).length).toBeGreaterThan(3);
  const refused = await browser.send('/dashboard/profiles/new', { _csrf: token });
  expect(refused.body).toContain('Ask an owner: owner@example.com.');
  for (const { method, url } of made.routes) {
    if (method !== 'GET' || !url.startsWith('/dashboard') || /:|assets|log/.test(url)) continue;
    // Only the form of a change is not shown to who may not make it.
    const expected = /\/(new|slack)$/.test(url) ? [403] : [200, 303];
    expect([url, expected]).toEqual([url, expect.arrayContaining([(await browser.get(url)).statusCode])]);
  }
});

test('a member changes all but team, plan, keys and when the digest is sent', async () => {
  const browser = await memberSignedIn(made, { email: 'member@example.com', role: 'member' });
  const token = csrfOf((await browser.get('/dashboard')).body);
  const passed = await notRefused(browser, { _csrf: token });
  const all = changes.map((change) => change.split(' ')[1] ?? '');
  expect(all.filter((url) => !passed.includes(url)).filter((url) => !OWNERS.test(url))).toEqual([]);
  expect(passed.filter((url) => OWNERS.test(url))).toEqual([]);
  expect((await browser.get('/dashboard/settings/team')).body).not.toContain('/role"');
});

test('nobody who is logged out changes anything', async () => {
  const stranger = new TestBrowser(made.app);
  const token = csrfOf((await stranger.get('/dashboard/login')).body);
  for (const change of changes) {
    const [, url = ''] = change.split(' ');
    if (OWN.test(url) && !url.includes('/account/')) continue;
    const { statusCode, headers } = await stranger.send(url, { _csrf: token });
    expect([url, statusCode, headers.location]).toEqual([url, 303, '/dashboard/login']);
  }
});
