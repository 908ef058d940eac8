import { afterEach, beforeEach, expect, test } from 'vitest';
import { renewSetupLink } from '../../src/accounts/links.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, PASSWORD, signedIn, TestBrowser } from './browser-session.ts';

let made: TestApp;
beforeEach(async () => {
  made = await buildTestApp();
});
afterEach(() => made.app.close());

const DAY = 86_400_000;
const OWNER = { email: 'owner@example.com', password: PASSWORD };

async function linkOf({ store, clock, tenant }: TestApp): Promise<string> {
  return (await renewSetupLink({ store, clock, random: systemRandom }, tenant.id))?.token ?? '';
}

test('a set-up link sets a password and leads into the dashboard, once', async () => {
  const token = await linkOf(made);
  const browser = new TestBrowser(made.app);
  const fields = { token: `${BASE_URL}/dashboard/setup#token=${token}`, password: PASSWORD };
  const answer = await browser.post('/dashboard/setup', fields);
  expect([answer.statusCode, answer.headers.location]).toEqual([303, '/dashboard']);
  const today = await browser.get('/dashboard');
  expect(today.statusCode).toBe(200);
  expect(today.body).toContain('owner@example.com');
  const again = await new TestBrowser(made.app).post('/dashboard/setup', fields);
  expect(again.statusCode).toBe(400);
  expect(again.body).toContain('no longer valid');
});

test('the log-in page and every screen link to the product page and the developer portal', async () => {
  const browser = await signedIn(made, made.tenant.id);
  const { body: login } = await new TestBrowser(made.app).get('/dashboard/login');
  const { body: today } = await browser.get('/dashboard');
  for (const page of [login, today])
    for (const path of ['/product', '/developers']) expect(page).toContain(`href="${path}"`);
});

test('a link expires after 7 days, and a weak password does not use it up', async () => {
  const token = await linkOf(made);
  const browser = new TestBrowser(made.app);
  for (const password of ['short', 'aaaaaaaaaaaa', 'OWNER@example.com']) {
    const answer = await browser.post('/dashboard/setup', { token, password });
    expect([password, answer.statusCode]).toEqual([password, 400]);
    expect(answer.body).toContain(`value="${token}"`);
  }
  made.clock.advance(7 * DAY);
  expect((await browser.post('/dashboard/setup', { token, password: PASSWORD })).statusCode).toBe(400);
});

test('logging in with the password creates a new session each time, and logging out ends it', async () => {
  await signedIn(made, made.tenant.id);
  const browser = new TestBrowser(made.app);
  const first = await browser.post('/dashboard/login', { ...OWNER, email: 'Owner@Example.com ' });
  expect([first.statusCode, first.headers.location]).toEqual([303, '/dashboard']);
  const old = browser.cookies.get('__Host-signalpost') ?? '';
  const cookie = first.cookies.find(({ name }) => name === '__Host-signalpost');
  expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax', path: '/' });
  expect(cookie?.domain).toBeUndefined();
  const token = csrfOf((await browser.get('/dashboard')).body);
  expect((await browser.send('/dashboard/logout', { _csrf: token })).statusCode).toBe(303);
  browser.cookies.set('__Host-signalpost', old);
  expect((await browser.get('/dashboard')).headers.location).toBe('/dashboard/login?next=%2Fdashboard');
});

test('the lifetime of sessions is configurable', async () => {
  const app = await buildTestApp({ env: { SESSION_IDLE_DAYS: '2', SESSION_MAX_DAYS: '3' } });
  try {
    const used = await signedIn(app, app.tenant.id);
    const status = async () => (await used.get('/dashboard')).statusCode;
    for (let day = 1; day <= 2; day++) {
      app.clock.advance(DAY);
      expect(await status()).toBe(200);
    }
    app.clock.advance(DAY); // used every day, and three days old
    expect(await status()).not.toBe(200);
    const idle = new TestBrowser(app.app);
    const login = await idle.post('/dashboard/login', OWNER);
    expect([login.headers['set-cookie']].flat().join()).toContain(`Max-Age=${3 * 86_400}`);
    app.clock.advance(2 * DAY);
    expect((await idle.get('/dashboard')).statusCode).not.toBe(200);
  } finally {
    await app.app.close();
  }
});

test('a session expires after 14 days without use, and continues while it is used', async () => {
  const browser = await signedIn(made, made.tenant.id);
  for (let i = 0; i < 3; i++) {
    made.clock.advance(10 * DAY);
    expect((await browser.get('/dashboard')).statusCode).toBe(200);
  }
  made.clock.advance(14 * DAY);
  expect((await browser.get('/dashboard')).statusCode).toBe(303);
});

test('a wrong password and an unknown address get the same response and the same throttling', async () => {
  await signedIn(made, made.tenant.id);
  const answers = [];
  for (const email of ['owner@example.com', 'nobody@example.com']) {
    const browser = new TestBrowser(made.app);
    const page = await browser.get('/dashboard/login');
    const fields = { email, password: 'wrong password', _csrf: csrfOf(page.body) };
    const got = [];
    for (let i = 0; i < 6; i++) got.push(await browser.send('/dashboard/login', fields));
    answers.push(got);
    expect(got.map(({ statusCode }) => statusCode)).toEqual([401, 401, 401, 401, 401, 429]);
    expect(got[5]?.headers['retry-after']).toBe('900');
  }
  const [known, unknown] = answers.map((got) =>
    (got[0]?.body ?? '').replace(/(name="_csrf" value=")[^"]+/, '$1'),
  );
  expect(unknown?.replaceAll('nobody@', 'owner@')).toBe(known);
  const late = new TestBrowser(made.app);
  expect((await late.post('/dashboard/login', OWNER)).statusCode).toBe(429);
  made.clock.advance(15 * 60_000);
  expect((await late.post('/dashboard/login', OWNER)).statusCode).toBe(303);
});

test('a form without a token, with that of another session, or from another site is refused', async () => {
  const browser = await signedIn(made, made.tenant.id);
  const stranger = new TestBrowser(made.app);
  const foreign = csrfOf((await stranger.get('/dashboard/login')).body);
  const own = csrfOf((await browser.get('/dashboard')).body);
  expect((await browser.send('/dashboard/logout', {})).statusCode).toBe(403);
  expect((await browser.send('/dashboard/logout', { _csrf: foreign })).statusCode).toBe(403);
  const origin = { origin: 'https://evil.example' };
  expect((await browser.send('/dashboard/logout', { _csrf: own }, origin)).statusCode).toBe(403);
  expect((await browser.get('/dashboard')).statusCode).toBe(200);
  expect((await browser.send('/dashboard/logout', { _csrf: own }, { origin: BASE_URL })).statusCode).toBe(
    303,
  );
});

test('log-in redirects to the requested page, and never to another site', async () => {
  await signedIn(made, made.tenant.id);
  const cases = [
    ['/dashboard?x=1', '/dashboard?x=1'],
    ['//evil.example', '/dashboard'],
    ['/dashboard\\@evil', '/dashboard'],
    ['https://evil.example/dashboard', '/dashboard'],
    ['/dashboard?a=€', '/dashboard'],
    ['/dashboard?a=\u0001', '/dashboard'],
    ['/dashboard/find?q=%E2%82%AC[1]', '/dashboard/find?q=%E2%82%AC[1]'],
  ];
  for (const [next = '', leads] of cases) {
    const browser = new TestBrowser(made.app);
    const page = `/dashboard/login?next=${encodeURIComponent(next)}`;
    const shown = /name="next" value="([^"]*)"/.exec((await browser.get(page)).body)?.[1];
    const answer = await browser.post('/dashboard/login', { ...OWNER, next }, page);
    expect([next, shown, answer.headers.location]).toEqual([next, leads, leads]);
  }
});

test('while nobody can log in yet, the page shows the command that creates access', async () => {
  const page = await made.app.inject('/dashboard/login');
  expect(page.body).toContain('tenant setup-link');
  await signedIn(made, made.tenant.id);
  expect((await made.app.inject('/dashboard/login')).body).not.toContain('setup-link');
});

test('every page has the strict CSP, is never cached, and loads its styles and scripts from this server', async () => {
  const page = await made.app.inject('/dashboard/login');
  expect(page.headers['content-security-policy']).toContain("script-src 'self'");
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'same-origin' });
  expect(page.body).not.toMatch(/<script(?![^>]* src=)|<style| style="| on[a-z]+="/);
  const paths = [...page.body.matchAll(/(?:src|href)="(\/dashboard\/assets\/[^"]+)"/g)].map(
    ([, path]) => path,
  );
  expect(paths.length).toBeGreaterThanOrEqual(3);
  for (const path of paths) {
    const asset = await made.app.inject(path ?? '');
    expect([path, asset.statusCode]).toEqual([path, 200]);
    expect(asset.headers['cache-control']).toContain('immutable');
  }
});

test('an unknown path is 404, a wrong method is 405, and a trailing slash redirects to the URL without it', async () => {
  const browser = await signedIn(made, made.tenant.id);
  expect((await browser.get('/dashboard/nothing')).statusCode).toBe(404);
  expect((await made.app.inject('/dashboard/nothing')).statusCode).toBe(404);
  const slash = await browser.get('/dashboard/login/');
  expect([slash.statusCode, slash.headers.location]).toEqual([308, '/dashboard/login']);
  const wrong = await made.app.inject({ method: 'DELETE', url: '/dashboard/login' });
  expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
});
