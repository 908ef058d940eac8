import { afterEach, beforeEach, expect, test } from 'vitest';
import { stepOf, totpCode } from '../../src/lib/totp.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, memberSignedIn, PASSWORD, signedIn, TestBrowser } from './browser-session.ts';

const ACCOUNT = '/dashboard/settings/account';
const FACTOR = `${ACCOUNT}/second-factor`;
const EMAIL = 'owner@example.com';
const NEW = 'another long password';
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function logIn(password = PASSWORD): Promise<{ browser: TestBrowser; status: number; body: string }> {
  const other = new TestBrowser(made.app);
  const { statusCode, body } = await other.post('/dashboard/login', { email: EMAIL, password });
  return { browser: other, status: statusCode, body };
}

test('changing the password requires the old one, and ends all other sessions', async () => {
  const other = (await logIn()).browser;
  const wrong = await browser.post(`${ACCOUNT}/password`, { old_password: 'wrong', password: NEW }, ACCOUNT);
  expect(wrong.statusCode).toBe(400);
  expect(wrong.body).toContain('That is not your current password.');
  const weak = await browser.post(`${ACCOUNT}/password`, { old_password: PASSWORD, password: 'x' }, ACCOUNT);
  expect(weak.statusCode).toBe(400);
  const done = await browser.post(`${ACCOUNT}/password`, { old_password: PASSWORD, password: NEW }, ACCOUNT);
  expect(done.headers.location).toBe(`${ACCOUNT}?done=password`);
  expect((await browser.get(ACCOUNT)).statusCode).toBe(200);
  expect((await other.get(ACCOUNT)).statusCode).toBe(303);
  expect([(await logIn()).status, (await logIn(NEW)).status]).toEqual([401, 303]);
});

test('wrong old passwords count like failed log-ins', async () => {
  const token = csrfOf((await browser.get(ACCOUNT)).body);
  const answers = [];
  for (let i = 0; i < 6; i++) {
    const fields = { old_password: `wrong ${i}`, password: NEW, _csrf: token };
    answers.push((await browser.send(`${ACCOUNT}/password`, fields)).statusCode);
  }
  expect(answers).toEqual([400, 400, 400, 400, 400, 400]);
  expect((await logIn()).status).toBe(429);
});

test('sessions are listed with their browsers, and can be ended one by one or all others at once', async () => {
  const others = [];
  for (const agent of ['Mozilla/5.0 (Windows NT 10.0) Gecko Firefox/140.0', 'curl/8']) {
    const other = new TestBrowser(made.app);
    const fields = {
      email: EMAIL,
      password: PASSWORD,
      _csrf: csrfOf((await other.get('/dashboard/login')).body),
    };
    await other.send('/dashboard/login', fields, { 'user-agent': agent });
    others.push(other);
  }
  const page = (await browser.get(ACCOUNT)).body;
  expect(page).toContain('Firefox on Windows');
  const firefox = (await made.store.listSessions(await ownerId(), made.clock.now())).find(
    ({ client }) => client === 'Firefox on Windows',
  );
  expect((await browser.post(`${ACCOUNT}/sessions/${firefox?.id}/end`, {}, ACCOUNT)).statusCode).toBe(303);
  expect((await others[0]?.get(ACCOUNT))?.statusCode).toBe(303);
  expect((await others[1]?.get(ACCOUNT))?.statusCode).toBe(200);
  const stranger = await memberSignedIn(made, { email: 'dana@example.com', role: 'member' });
  const [own] = await made.store.listSessions(await ownerId(), made.clock.now());
  expect((await stranger.post(`${ACCOUNT}/sessions/${own?.id}/end`, {}, ACCOUNT)).statusCode).toBe(404);
  expect((await browser.post(`${ACCOUNT}/sessions/end`, {}, ACCOUNT)).statusCode).toBe(303);
  expect((await others[1]?.get(ACCOUNT))?.statusCode).toBe(303);
  expect((await stranger.get(ACCOUNT)).statusCode).toBe(200);
});

async function ownerId(): Promise<string> {
  return (await made.store.firstOwner(made.tenant.id))?.id ?? '';
}

/** Turns on the second factor; returns its secret and the recovery codes shown. */
async function turnOn(): Promise<{ code(): string; codes: string[] }> {
  const offer = await browser.post(FACTOR, { password: PASSWORD }, ACCOUNT);
  expect(offer.body).toMatch(/<svg [^>]*viewBox/);
  const [, key = ''] = /secret=([A-Z2-7]+)/.exec(offer.body) ?? [];
  const secret = fromBase32(key);
  const code = () => totpCode(secret, stepOf(made.clock.now()));
  const token = csrfOf(offer.body);
  const [, proof = ''] = /name="proof" value="([^"]+)"/.exec(offer.body) ?? [];
  const wrong = await browser.send(`${FACTOR}/confirm`, { code: '000', proof, _csrf: token });
  expect(wrong.statusCode).toBe(400);
  expect(wrong.body).toContain(`secret=${key}`);
  const done = await browser.send(`${FACTOR}/confirm`, { code: code(), proof, _csrf: token });
  expect(done.statusCode).toBe(200);
  return { code, codes: done.body.match(/\b(?:[a-z2-7]{4}-){3}[a-z2-7]{4}\b/g) ?? [] };
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** Performs both steps of a log-in, the second with each of the codes; returns the statuses of the second. */
async function tryCodes(...codes: string[]): Promise<number[]> {
  const { browser: other, status, body } = await logIn();
  expect([status, body]).toEqual([200, expect.stringContaining('The code from your authenticator app')]);
  expect((await other.get('/dashboard')).statusCode).toBe(303);
  const [, pending = ''] = /name="pending" value="([^"]+)"/.exec(body) ?? [];
  const statuses = [];
  for (const code of codes) {
    const answer = await other.send('/dashboard/login/code', { pending, code, _csrf: csrfOf(body) });
    statuses.push(answer.statusCode);
  }
  if (statuses.at(-1) === 303) expect((await other.get('/dashboard')).statusCode).toBe(200);
  return statuses;
}

test('with a second factor, log-in requires a code, and no code works twice', async () => {
  const { code } = await turnOn();
  expect(await tryCodes(code())).toEqual([401]);
  made.clock.advance(30_000);
  const now = code();
  expect(await tryCodes('123', now)).toEqual([401, 303]);
  expect(await tryCodes(now)).toEqual([401]);
  made.clock.advance(30_000);
  expect(await tryCodes(code().replace(/^.../, '$& '))).toEqual([303]);
});

test('wrong codes are throttled, and the first step is valid for five minutes and one password', async () => {
  const { code } = await turnOn();
  made.clock.advance(30_000);
  expect(await tryCodes('1', '2', '3', '4', '5', code())).toEqual([401, 401, 401, 401, 401, 429]);
  made.clock.advance(15 * 60_000);
  const { browser: late, body } = await logIn();
  const [, pending = ''] = /name="pending" value="([^"]+)"/.exec(body) ?? [];
  made.clock.advance(5 * 60_000);
  const answer = await late.send('/dashboard/login/code', { pending, code: code(), _csrf: csrfOf(body) });
  expect([answer.statusCode, answer.body]).toEqual([401, expect.stringContaining('Log in again')]);
  const forged = { pending: `${pending}A`, code: code(), _csrf: csrfOf(body) };
  expect((await late.send('/dashboard/login/code', forged)).statusCode).toBe(401);
});

test('a recovery code works once; new codes invalidate the previous ones', async () => {
  const { codes } = await turnOn();
  const [first = '', second = ''] = codes;
  expect(codes).toHaveLength(10);
  expect(await tryCodes(first.toUpperCase().replaceAll('-', ''))).toEqual([303]);
  expect(await tryCodes(first)).toEqual([401]);
  expect((await browser.get(ACCOUNT)).body).toContain('9 recovery codes left');
  const wrong = await browser.post(`${FACTOR}/codes`, { password: 'wrong' }, ACCOUNT);
  expect(wrong.statusCode).toBe(400);
  expect((await browser.post(`${FACTOR}/codes`, { password: PASSWORD }, ACCOUNT)).body).toContain('once');
  expect(await tryCodes(second)).toEqual([401]);
});

test('the second factor is encrypted at rest, is turned off with the password, and survives a password reset', async () => {
  const { codes } = await turnOn();
  const factor = await made.store.getFactor(await ownerId());
  expect(factor?.box.length).toBeGreaterThan(40);
  expect(codes.some((code) => JSON.stringify(factor).includes(code))).toBe(false);
  const { store, clock } = made;
  const link = 'x'.repeat(43);
  const { hashToken } = await import('../../src/accounts/links.ts');
  await store.setLink(await ownerId(), { tokenHash: hashToken(link), expiresAt: clock.now() + 1_000 });
  const reset = await new TestBrowser(made.app).post('/dashboard/reset', { token: link, password: NEW });
  expect(reset.headers.location).toBe('/dashboard/login?done=password');
  expect(reset.cookies.some(({ name }) => name === '__Host-signalpost')).toBe(false);
  const { status, body } = await logIn(NEW);
  expect([status, body.includes('name="code"')]).toEqual([200, true]);
  browser = await reEnter(codes[0] ?? '', body);
  expect((await browser.post(`${FACTOR}/off`, { password: PASSWORD }, ACCOUNT)).statusCode).toBe(400);
  expect((await browser.post(`${FACTOR}/off`, { password: NEW }, ACCOUNT)).statusCode).toBe(303);
  expect((await logIn(NEW)).status).toBe(303);
});

/** A browser signed in with a recovery code. */
async function reEnter(code: string, _body: string): Promise<TestBrowser> {
  const { browser: other, body } = await logIn(NEW);
  const [, pending = ''] = /name="pending" value="([^"]+)"/.exec(body) ?? [];
  await other.send('/dashboard/login/code', { pending, code, _csrf: csrfOf(body) });
  return other;
}
