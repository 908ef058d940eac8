import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, memberSignedIn, signedIn, TestBrowser } from './browser-session.ts';

/** Changes that do not concern the account: those to a person's own settings, and those without a session. */
const OWN = /^\/dashboard\/(settings\/(account\/|digest\/mine$)|log|setup$|reset$)/;
/** Changes that only owners can make. */
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

/** Sends each change as a form with `fields`; returns the paths whose response is not a 403. */
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

test('there are enough changes to test', () => {
  expect(changes.length).toBeGreaterThan(40);
});

test('no change is accepted from anybody without a token, or from another site', async () => {
  const browser = await signedIn(made, made.tenant.id);
  const token = csrfOf((await browser.get('/dashboard')).body);
  expect(await notRefused(browser, {})).toEqual([]);
  expect(await notRefused(browser, { _csrf: token }, { origin: 'https://evil.example' })).toEqual([]);
  expect(await notRefused(browser, { _csrf: token }, { 'sec-fetch-site': 'cross-site' })).toEqual([]);
});

test('a reader can only change their own settings, and is told who can change the rest', async () => {
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
    // A form for a change is hidden from people who cannot make it.
    const expected = /\/(new|slack)$/.test(url) ? [403] : [200, 303];
    expect([url, expected]).toEqual([url, expect.arrayContaining([(await browser.get(url)).statusCode])]);
  }
});

test('a member can change everything except team, plan, keys and the time of the digest', async () => {
  const browser = await memberSignedIn(made, { email: 'member@example.com', role: 'member' });
  const token = csrfOf((await browser.get('/dashboard')).body);
  const passed = await notRefused(browser, { _csrf: token });
  const all = changes.map((change) => change.split(' ')[1] ?? '');
  expect(all.filter((url) => !passed.includes(url)).filter((url) => !OWNERS.test(url))).toEqual([]);
  expect(passed.filter((url) => OWNERS.test(url))).toEqual([]);
  expect((await browser.get('/dashboard/settings/team')).body).not.toContain('/role"');
});

test('nothing can be changed without logging in', async () => {
  const stranger = new TestBrowser(made.app);
  const token = csrfOf((await stranger.get('/dashboard/login')).body);
  for (const change of changes) {
    const [, url = ''] = change.split(' ');
    if (OWN.test(url) && !url.includes('/account/')) continue;
    const { statusCode, headers } = await stranger.send(url, { _csrf: token });
    expect([url, statusCode, headers.location]).toEqual([url, 303, '/dashboard/login']);
  }
});
