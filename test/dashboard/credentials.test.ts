import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { mailText } from '../../src/accounts/compose-mail.ts';
import { networkOf } from '../../src/lib/network.ts';
import { stepOf, totpCode } from '../../src/lib/totp.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, memberSignedIn, PASSWORD, signedIn, TestBrowser } from './browser-session.ts';

const ACCOUNT = '/dashboard/settings/account';
const FACTOR = `${ACCOUNT}/second-factor`;
const EMAIL = 'owner@example.com';
const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko Firefox/140.0' };

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function logIn(password = PASSWORD, email = EMAIL): Promise<{ browser: TestBrowser; status: number }> {
  const other = new TestBrowser(made.app);
  const _csrf = csrfOf((await other.get('/dashboard/login')).body);
  const { statusCode } = await other.send('/dashboard/login', { email, password, _csrf }, FIREFOX);
  return { browser: other, status: statusCode };
}

const ALL = { actor: null, action: null, from: null, to: null, limit: 100, after: null };
/** The audit log, oldest first: action, count and network of each entry. */
async function audited(): Promise<string[]> {
  const { rows } = await made.store.pageAudit(made.tenant.id, ALL);
  const own = rows.filter(({ action }) => action !== 'member.link');
  return own.map(({ action, count, client }) => `${action} ${count} ${client}`.trim()).reverse();
}

/** The subjects of all mail written. */
async function mailed(): Promise<string[]> {
  const mail = await made.store.listMail(made.tenant.id, 20);
  return mail.map(({ facts }) => mailText(facts, BASE_URL).subject).sort();
}

test('log-ins, refusals and lockouts are in the audit log with their network, and refusals are grouped by hour', async () => {
  for (let i = 0; i < 7; i++) await logIn('a wrong password');
  await vi.waitFor(async () => {
    expect(await audited()).toEqual([
      'password.change 1 127.0.0.0/24',
      'session.refused 5 127.0.0.0/24',
      'session.locked 1 127.0.0.0/24',
    ]);
  });
  made.clock.advance(3_600_000);
  await logIn();
  expect((await audited()).at(-1)).toBe('session.begin 1 127.0.0.0/24');
  const page = (await browser.get('/dashboard/settings/audit')).body;
  expect(page).toContain('Not logged in');
  expect(page).toContain('127.0.0.0/24');
});

test('a refused log-in with an unknown address is recorded nowhere', async () => {
  await logIn('a wrong password', 'nobody@example.com');
  await logIn('a wrong password');
  await vi.waitFor(async () => expect((await audited()).length).toBe(2));
  expect((await audited()).at(-1)).toBe('session.refused 1 127.0.0.0/24');
});

test('no network is recorded for other changes', async () => {
  await browser.post('/dashboard/settings/api-keys', { name: 'Import', preset: 'read', rate_limit: '50' });
  expect((await audited()).at(-1)).toBe('key.create 1');
});

test('a password change is mailed to the person with time, browser and network; setting the first one is not', async () => {
  expect(await mailed()).toEqual([]);
  const { browser: other } = await logIn();
  const fields = { old_password: PASSWORD, password: 'another long password' };
  expect((await other.post(`${ACCOUNT}/password`, fields, ACCOUNT)).statusCode).toBe(303);
  expect(await mailed()).toEqual(['Your password was changed']);
  const [mail] = await made.store.dueMail(made.clock.now(), 10);
  expect(mail?.to).toBe(EMAIL);
  const { text } = mailText(mail?.facts as never, BASE_URL);
  expect(text).toContain('UTC, from Firefox on Linux, the network 127.0.0.0/24');
  expect(text).toContain(`${BASE_URL}/dashboard/reset`);
});

test('the use of a password reset link is mailed', async () => {
  await new TestBrowser(made.app).post('/dashboard/reset', { email: EMAIL });
  const { renewResetLinks } = await import('../../src/accounts/links.ts');
  const { systemRandom } = await import('../../src/lib/random.ts');
  const [link] = await renewResetLinks({ ...made, random: systemRandom }, EMAIL);
  const fields = { token: link?.token ?? '', password: 'another long password' };
  expect((await new TestBrowser(made.app).post('/dashboard/reset', fields)).statusCode).toBe(303);
  expect(await mailed()).toContain('Your password was changed');
});

/** The secret of an offered second factor, and the fields of its form. */
function offerOf(body: string): { secret: string; proof: string; _csrf: string } {
  const [, secret = ''] = /secret=([A-Z2-7]+)/.exec(body) ?? [];
  const [, proof = ''] = /name="proof" value="([^"]+)"/.exec(body) ?? [];
  return { secret, proof, _csrf: csrfOf(body) };
}

function codeOf(secret: string): string {
  const bits = [...secret].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const bytes = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  return totpCode(bytes, stepOf(made.clock.now()));
}

test('a second factor can only be turned on with the password, and its secret is shown to nobody else', async () => {
  for (const fields of [{}, { password: 'wrong' }]) {
    const refused = await browser.post(FACTOR, fields, ACCOUNT);
    expect(refused.statusCode).toBe(400);
    expect(refused.body).not.toContain('secret=');
  }
  const offer = offerOf((await browser.post(FACTOR, { password: PASSWORD }, ACCOUNT)).body);
  expect(offer.secret).not.toBe('');
  const { browser: thief } = await logIn();
  for (const proof of ['', 'forged', offer.proof]) {
    const code = codeOf(offer.secret);
    const refused = await thief.post(`${FACTOR}/confirm`, { code, proof }, ACCOUNT);
    expect([refused.statusCode, refused.body.includes('secret=')]).toEqual([400, false]);
  }
  made.clock.advance(10 * 60_000);
  const late = await browser.send(`${FACTOR}/confirm`, { ...offer, code: codeOf(offer.secret) });
  expect([late.statusCode, late.body.includes('secret=')]).toEqual([400, false]);
});

test('turning it on ends other sessions, and each change to it is mailed', async () => {
  const { browser: other } = await logIn();
  const offer = offerOf((await browser.post(FACTOR, { password: PASSWORD }, ACCOUNT)).body);
  const done = await browser.send(`${FACTOR}/confirm`, { ...offer, code: codeOf(offer.secret) });
  expect(done.statusCode).toBe(200);
  expect((await other.get(ACCOUNT)).statusCode).toBe(303);
  expect((await browser.get(ACCOUNT)).statusCode).toBe(200);
  await browser.post(`${FACTOR}/codes`, { password: PASSWORD }, ACCOUNT);
  await browser.post(`${FACTOR}/off`, { password: PASSWORD }, ACCOUNT);
  expect(await mailed()).toEqual([
    'Two-factor authentication was turned off',
    'Two-factor authentication was turned on',
    'You have new recovery codes',
  ]);
});

test('a person has at most twenty sessions, and the oldest ones are ended', async () => {
  const others: TestBrowser[] = [];
  for (let i = 0; i < 20; i++) {
    made.clock.advance(1_000);
    others.push((await logIn()).browser);
  }
  expect((await browser.get(ACCOUNT)).statusCode).toBe(303);
  expect((await others[0]?.get(ACCOUNT))?.statusCode).toBe(200);
  const member = await memberSignedIn(made, { email: 'dana@example.com', role: 'member' });
  expect((await member.get(ACCOUNT)).statusCode).toBe(200);
  const owner = await made.store.firstOwner(made.tenant.id);
  expect(await made.store.listSessions(owner?.id ?? '', made.clock.now())).toHaveLength(20);
});

test('a network is shown without the host part', () => {
  const addresses = ['203.0.113.77', '2001:db8:1:2::', '2001:db8::', '::', '::1', '', 'nonsense'];
  expect(addresses.map(networkOf)).toEqual([
    ...['203.0.113.0/24', '2001:db8:1::/48', '2001:db8::/48', '::/48', '::/48', '', ''],
  ]);
});
