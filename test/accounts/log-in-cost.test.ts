import * as crypto from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { csrfOf, invite, PASSWORD, signedIn, TestBrowser } from '../dashboard/browser-session.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

vi.mock('node:crypto', async (original) => {
  const real = await original<typeof crypto>();
  return { ...real, argon2: vi.fn(real.argon2) };
});

let made: TestApp;
beforeAll(async () => {
  made = await buildTestApp();
  await signedIn(made, made.tenant.id);
  await comeIn(made.tenant, 'everywhere@example.com', 'a password of the first');
  for (const password of ['a password of the second', 'a password of the third']) {
    const { tenant } = await made.addTenant();
    await comeIn(tenant, 'everywhere@example.com', password);
  }
  await invite(made, { email: 'invited@example.com', role: 'member' });
});
afterAll(() => made.app.close());

async function comeIn(tenant: TestApp['tenant'], email: string, password: string): Promise<void> {
  const { token } = await invite({ ...made, tenant }, { email, role: 'member' });
  const browser = new TestBrowser(made.app);
  const { statusCode } = await browser.post('/dashboard/setup', { token, password });
  if (statusCode !== 303) throw new Error(`${email} did not come in: ${statusCode}`);
}

/** Returns the status of a login and how many password hashes it computed. */
async function logIn(email: string, password: string): Promise<{ status: number; computed: number }> {
  const browser = new TestBrowser(made.app);
  const _csrf = csrfOf((await browser.get('/dashboard/login')).body);
  vi.mocked(crypto.argon2).mockClear();
  const { statusCode } = await browser.send('/dashboard/login', { email, password, _csrf });
  return { status: statusCode, computed: vi.mocked(crypto.argon2).mock.calls.length };
}

test.each([
  ['of no tenant', 'nobody@example.com'],
  ['that is invited and has no password yet', 'invited@example.com'],
  ['of one tenant', 'owner@example.com'],
  ['of three tenants', 'everywhere@example.com'],
])('a wrong password for an address %s computes one hash', async (_of, email) => {
  expect(await logIn(email, 'not the password')).toEqual({ status: 401, computed: 1 });
});

test('the right password of any tenant computes one hash, even after a change', async () => {
  expect(await logIn('owner@example.com', PASSWORD)).toEqual({ status: 303, computed: 1 });
  const passwords = ['a password of the first', 'a password of the second', 'a password of the third'];
  for (const password of passwords) {
    expect(await logIn('everywhere@example.com', password)).toEqual({ status: 303, computed: 1 });
  }
  const browser = new TestBrowser(made.app);
  await browser.post('/dashboard/login', { email: 'everywhere@example.com', password: passwords[1] ?? '' });
  const account = '/dashboard/settings/account';
  const change = { old_password: passwords[1] ?? '', password: 'a newer one of the second' };
  expect((await browser.post(`${account}/password`, change, account)).statusCode).toBe(303);
  expect(await logIn('everywhere@example.com', passwords[1] ?? '')).toEqual({ status: 401, computed: 1 });
  expect(await logIn('everywhere@example.com', change.password)).toEqual({ status: 303, computed: 1 });
  expect(await logIn('everywhere@example.com', passwords[0] ?? '')).toEqual({ status: 303, computed: 1 });
});
