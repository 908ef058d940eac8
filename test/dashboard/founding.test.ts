import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, foundingLink, type TestApp } from '../support/app.ts';
import { csrfOf, PASSWORD, TestBrowser } from './browser-session.ts';

const SETUP = '/dashboard/setup';
const FORM = { token: foundingLink(), name: 'Vans & Co', email: 'First@Vans.example', password: PASSWORD };

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp({ isEmpty: true });
  browser = new TestBrowser(made.app);
});
afterEach(() => made.app.close());

test('the link of an empty server creates only the first account, whose owner is then signed in', async () => {
  const page = (await browser.get(SETUP)).body;
  for (const label of ['Company name', 'Email', 'Password']) expect(page).toContain(`>${label}</label>`);
  const answer = await browser.post(SETUP, FORM);
  expect([answer.statusCode, answer.headers.location]).toEqual([303, '/dashboard']);
  expect((await browser.get('/dashboard')).body).toContain('What you sell, in one line');
  const [tenant, ...others] = await made.store.listTenants();
  expect([tenant?.name, tenant?.plan, others]).toEqual(['Vans & Co', 'trial', []]);
  expect(await made.store.listKeys(tenant?.id ?? '')).toEqual([]);

  const late = new TestBrowser(made.app);
  expect((await late.get(SETUP)).body).not.toContain('Company name');
  const again = await late.post(SETUP, { ...FORM, email: 'second@vans.example' });
  expect([again.statusCode, again.headers.location]).toEqual([303, '/dashboard/login?done=founded']);
  const told = await late.get('/dashboard/login?done=founded');
  expect(told.body).toContain('This server already has an account');
  expect((await late.get('/dashboard')).statusCode).toBe(303);
  const owner = { email: 'first@vans.example', password: PASSWORD };
  expect((await late.post('/dashboard/login', owner)).headers.location).toBe('/dashboard');
  expect(await made.store.listTenants()).toHaveLength(1);
});

test('a form sent twice, concurrently or in sequence, creates one account, and each response leads into it', async () => {
  const _csrf = csrfOf((await browser.get(SETUP)).body);
  const send = () => browser.send(SETUP, { ...FORM, _csrf });
  const answers = await Promise.all([send(), send()]);
  answers.push(await new TestBrowser(made.app).post(SETUP, FORM));
  for (const { statusCode, headers } of answers) {
    expect([statusCode, headers.location]).toEqual([303, '/dashboard']);
  }
  expect((await browser.get('/dashboard')).statusCode).toBe(200);
  expect(await made.store.listTenants()).toHaveLength(1);
});

test('errors in its form are shown next to the field and keep the input, and nothing is created', async () => {
  const forged = foundingLink(Buffer.alloc(32, 8));
  const wrong: [Partial<typeof FORM>, string][] = [
    [{ token: forged }, 'no longer valid'],
    [{ name: ' ' }, 'Enter a name of 1 to 200 characters.'],
    [{ email: 'vans' }, 'That is not a valid email address.'],
    [{ password: 'short' }, 'aria-invalid="true"'],
    [{ password: 'first@vans.example' }, 'aria-invalid="true"'],
  ];
  for (const [change, said] of wrong) {
    const answer = await browser.post(SETUP, { ...FORM, ...change });
    expect([change, answer.statusCode]).toEqual([change, 400]);
    expect(answer.body).toContain(said);
    expect(answer.body).toContain(`value="${change.email ?? FORM.email}"`);
  }
  expect(await made.store.listTenants()).toEqual([]);
});
