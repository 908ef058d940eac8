import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMailLimits } from '../../src/accounts/mail.ts';
import { dashboardLimits } from '../../src/dashboard/deps.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, invite, memberSignedIn, signedIn, TestBrowser } from './browser-session.ts';

const TEAM = '/dashboard/settings/team';
const OUTBOX = '/dashboard/settings/outbox';

let made: TestApp;
beforeEach(async () => {
  made = await buildTestApp({
    dashboardLimits: { session: 20, client: 60, tenant: () => 30 },
    env: { SMTP_URL: 'smtp://127.0.0.1:2525', MAIL_FROM: 'a@example.com' },
  });
});
afterEach(() => made.app.close());

/** The distinct statuses of this many GETs of a page, in order. */
async function statusesOf(browser: TestBrowser, count: number, url = '/dashboard/settings/plan') {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await browser.get(url)).statusCode);
  return statuses.filter((status, i) => status !== statuses[i - 1]);
}

test('requests per minute are limited by browser, by tenant and by client', async () => {
  const owner = await signedIn(made, made.tenant.id);
  const member = await memberSignedIn(made, { email: 'dana@example.com', role: 'member' });
  expect(await statusesOf(owner, 21)).toEqual([200, 429]);
  const refused = await owner.get('/dashboard');
  expect(refused.headers['retry-after']).toBe('60');
  expect(refused.body).toContain('limit of one browser');
  // Requests refused for one browser do not count towards the tenant's limit.
  expect(await statusesOf(member, 11)).toEqual([200, 429]);
  expect((await member.get('/dashboard')).body).toContain('limit of your account');
  const stranger = new TestBrowser(made.app);
  expect(await statusesOf(stranger, 60, '/dashboard/login')).toEqual([200, 429]);
  made.clock.advance(60_000);
  expect(await statusesOf(owner, 2)).toEqual([200]);
});

test('by default, a browser has the configured limit, and a client twice as much', () => {
  const { tenant, ...limits } = dashboardLimits(300);
  expect(limits).toEqual({ session: 300, client: 600 });
  expect(tenant('pro')).toBe(3_000);
});

test('stylesheets and scripts do not count towards any limit', async () => {
  const owner = await signedIn(made, made.tenant.id);
  const [asset = ''] = /\/dashboard\/assets\/[\w.]+\.css/.exec((await owner.get('/dashboard')).body) ?? [];
  expect(await statusesOf(owner, 100, asset)).toEqual([200]);
});

test('a tenant can invite or resend twenty times per hour, and three times per day to each address', async () => {
  await made.app.close();
  made = await buildTestApp();
  const owner = await signedIn(made, made.tenant.id);
  const { user } = await invite(made, { email: 'new@example.com', role: 'member' });
  const _csrf = csrfOf((await owner.get(TEAM)).body);
  const renew = () => owner.send(`${TEAM}/${user.id}/link`, { _csrf });
  expect([await renew(), await renew()].map(({ statusCode }) => statusCode)).toEqual([200, 200]);
  const refused = await renew();
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '86400']);
  const statuses: number[] = [];
  for (let i = 0; i < 18; i++) {
    const fields = { email: `p${i}@example.com`, role: 'reader', _csrf };
    statuses.push((await owner.send(TEAM, fields)).statusCode);
  }
  expect(statuses).toEqual([...Array(17).fill(200), 429]);
  made.clock.advance(3_600_000);
  expect((await owner.send(TEAM, { email: 'later@example.com', role: 'reader', _csrf })).statusCode).toBe(
    200,
  );
  expect((await renew()).statusCode).toBe(429);
  // Sent mail is stored: the limit also applies in another process, or after a restart.
  const limits = createMailLimits(made.store, made.clock);
  await expect(limits.invite(made.tenant.id, 'NEW@example.com')).rejects.toThrow(
    'invitations a day are sent to that address',
  );
});

test('mail that the outbox does not offer to resend is not resent', async () => {
  const owner = await signedIn(made, made.tenant.id);
  const member = await memberSignedIn(made, { email: 'dana@example.com', role: 'member' });
  const facts = { kind: 'message', subject: 'Hello', text: '' } as const;
  await made.store.addMail({ id: 'mal_own', tenantId: made.tenant.id, facts, createdAt: made.clock.now() });
  const [invitation] = (await made.store.listMail(made.tenant.id, 9)).filter(
    (mail) => mail.facts.kind === 'invitation',
  );
  for (const browser of [owner, member]) {
    const _csrf = csrfOf((await browser.get(OUTBOX)).body);
    const hidden = await browser.send(`${OUTBOX}/${invitation?.id}/resend`, { _csrf });
    expect(hidden.statusCode).toBe(404);
    expect((await browser.send(`${OUTBOX}/mal_own/resend`, { _csrf })).statusCode).toBe(303);
  }
});

test('an address gets at most ten password reset links per day', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) {
    const browser = new TestBrowser(made.app);
    statuses.push((await browser.post('/dashboard/reset', { email: 'owner@example.com' })).statusCode);
    made.clock.advance(16 * 60_000);
  }
  expect(statuses).toEqual([...Array(10).fill(303), 429, 429]);
});
