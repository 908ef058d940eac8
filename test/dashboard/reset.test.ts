import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { composeMail } from '../../src/accounts/compose-mail.ts';
import { createFeedbackLinks } from '../../src/accounts/links.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, PASSWORD, signedIn, TestBrowser } from './browser-session.ts';

const RESET = '/dashboard/reset';
const EMAIL = 'owner@example.com';

let made: TestApp;
beforeEach(async () => {
  made = await buildTestApp();
});
afterEach(() => made.app.close());

const ask = (email: string) => new TestBrowser(made.app).post(RESET, { email });

/** The link in the newest mail, once that has been written. */
async function mailedLink(): Promise<string> {
  const [mail] = await vi.waitUntil(async () => {
    const found = await made.store.listMail(made.tenant.id, 1);
    return found.length > 0 ? found : null;
  });
  const masterKey = Buffer.alloc(32, 7);
  const deps = {
    ...{ store: made.store, baseUrl: BASE_URL, secretBox: createSecretBox(masterKey, systemRandom) },
    feedbackLinks: createFeedbackLinks(createCursors(masterKey), BASE_URL),
  };
  if (mail === undefined) throw new Error('no mail');
  const { text } = await composeMail(deps, mail);
  return /https:\S+#token=\S+/.exec(text)?.[0] ?? '';
}

test('known and unknown addresses get the same response, and only the known one gets mail', async () => {
  await signedIn(made, made.tenant.id);
  const [unknown, known] = [await ask('nobody@example.com'), await ask('Owner@Example.com ')];
  for (const { statusCode, headers, body } of [unknown, known]) {
    expect([statusCode, headers.location, body]).toEqual([303, `${RESET}?done=asked`, '']);
  }
  expect(await mailedLink()).toMatch(`${BASE_URL}${RESET}#token=`);
  const due = await made.store.dueMail(made.clock.now(), 10);
  expect(due.map(({ to }) => to)).toEqual([EMAIL]);
  expect(JSON.stringify(due)).not.toContain((await mailedLink()).split('=')[1]);
});

test('the link in the mail sets a password once, within an hour, and ends every session', async () => {
  const before = await signedIn(made, made.tenant.id);
  await ask(EMAIL);
  const token = await mailedLink();
  const browser = new TestBrowser(made.app);
  const fields = { token, password: 'another long password' };
  expect((await browser.post(RESET, fields)).headers.location).toBe('/dashboard');
  expect((await browser.get('/dashboard')).statusCode).toBe(200);
  expect((await before.get('/dashboard')).statusCode).toBe(303);
  expect((await new TestBrowser(made.app).post(RESET, fields)).statusCode).toBe(400);
  const login = { email: EMAIL, password: PASSWORD };
  expect((await new TestBrowser(made.app).post('/dashboard/login', login)).statusCode).toBe(401);
});

test('the link is invalid after an hour, and people who never had a password get no mail', async () => {
  await ask(EMAIL);
  await signedIn(made, made.tenant.id);
  expect(await made.store.listMail(made.tenant.id, 5)).toEqual([]);
  await ask(EMAIL);
  const token = await mailedLink();
  made.clock.advance(3_600_000);
  expect((await new TestBrowser(made.app).post(RESET, { token, password: PASSWORD })).statusCode).toBe(400);
});

test('repeated requests are refused, for unknown addresses, too', async () => {
  for (const email of [EMAIL, 'nobody@example.com']) {
    const browser = new TestBrowser(made.app);
    const token = csrfOf((await browser.get(RESET)).body);
    const statuses = [];
    for (let i = 0; i < 4; i++)
      statuses.push((await browser.send(RESET, { email, _csrf: token })).statusCode);
    expect(statuses).toEqual([303, 303, 303, 429]);
  }
});
