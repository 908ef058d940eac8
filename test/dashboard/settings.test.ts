import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { aRun, aSource, claimAt } from '../support/sources.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';

const KEYS = '/dashboard/settings/api-keys';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

test('a key is created with its scopes, shown once, works, and is revoked with one click', async () => {
  // Later than the account's first key, so that it is listed first.
  made.clock.advance(1);
  const created = await browser.post(KEYS, { name: 'Import', preset: 'read', rate_limit: '50' });
  const [apiKey = ''] = /sp_live_\w{36}/.exec(created.body) ?? [];
  const auth = { authorization: `Bearer ${apiKey}` };
  const me = await made.app.inject({ url: '/v1/me', headers: auth });
  expect(me.json().data).toMatchObject({ key: { name: 'Import' }, limits: { rate_limit: 50 } });
  const list = await browser.get(KEYS);
  expect(list.body).not.toContain('sp_live_');
  expect(list.body).toContain('>Read everything<');
  const [, id = ''] = /api-keys\/(key_\w+)\/revoke/.exec(list.body) ?? [];
  const [newest] = (await made.store.listKeys(made.tenant.id)).slice(-1);
  expect(id).toBe(newest?.id);
  expect((await browser.post(`${KEYS}/${id}/revoke`, {}, KEYS)).statusCode).toBe(303);
  expect((await made.app.inject({ url: '/v1/me', headers: auth })).statusCode).toBe(401);
  expect((await browser.get(KEYS)).body).toContain('revoked');
});

test('the list of API keys has pages, newest first: revoked ones are kept, so there can be two thousand', async () => {
  for (let i = 0; i < 30; i++) {
    made.clock.advance(1);
    await browser.post(KEYS, { name: `Key ${i}`, preset: 'read', rate_limit: '50' });
  }
  const namesIn = (html: string) => html.match(/(?<=<strong>)(?:Key \d+)(?=<)/g) ?? [];
  const first = (await browser.get(KEYS)).body;
  const [, next = ''] = /href="([^"]+)">Older</.exec(first) ?? [];
  const second = (await browser.get(next)).body;
  const all = (await made.store.listKeys(made.tenant.id)).map(({ name }) => name).reverse();
  expect(all).toHaveLength(31);
  expect(namesIn(first)).toEqual(all.slice(0, 25));
  expect(second).toContain(`<strong>${all[30]}</strong>`);
  expect(namesIn(second)[0]).toBe(all[25]);
  expect([first.includes('>Newest<'), second.includes('>Newest<')]).toEqual([false, true]);
});

test('a refused key keeps the input', async () => {
  const refused = await browser.post(KEYS, { name: '', preset: 'write', rate_limit: '0' });
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toMatch(/value="write" selected/);
  expect(refused.body.match(/role="alert"/g)?.length).toBe(2);
  expect(refused.body).toContain('>Name must not be empty.<');
  expect(refused.body).toContain('>Rate limit must be at least 1.<');
  expect(refused.body.match(/aria-invalid="true"/g)?.length).toBe(2);
  const past = await browser.post(KEYS, { name: 'Old', preset: 'read', expires_at: '2020-01-01' });
  expect(past.body).toContain('must lie in the future');
  expect(await made.store.listKeys(made.tenant.id)).toHaveLength(1);
});

test("another tenant's key cannot be revoked", async () => {
  const { tenant } = await made.addTenant();
  const [key] = await made.store.listKeys(tenant.id);
  expect((await browser.post(`${KEYS}/${key?.id}/revoke`, {}, KEYS)).statusCode).toBe(404);
  expect((await made.store.listKeys(tenant.id))[0]?.revokedAt).toBeNull();
});

test('a source is created from a URL, paused, resumed, run and deleted', async () => {
  expect((await browser.get('/dashboard/sources')).body).toContain('No sources yet');
  const fields = {
    name: '<b>Feed</b>',
    kind: 'hackernews',
    query: 'crm',
    url: 'https://x.example',
    interval: '30',
  };
  const created = await browser.post('/dashboard/sources/new', fields);
  const [page = ''] = String(created.headers.location).split('?');
  const [source] = (await made.store.pageSources(made.tenant.id, { limit: 5, after: null })).rows;
  expect(source).toMatchObject({ kind: 'hackernews', intervalSeconds: 1_800, status: 'active' });
  expect((await browser.get(page)).body).toContain('&lt;b&gt;Feed&lt;/b&gt;');
  await browser.post(`${page}/pause`, {}, page);
  expect((await browser.get('/dashboard/sources')).body).toContain('badge paused');
  await browser.post(`${page}/resume`, {}, page);
  expect((await browser.post(`${page}/run`, {}, page)).headers.location).toBe(`${page}?done=started`);
  await browser.post(`${page}/delete`, {}, page);
  expect((await browser.get(page)).statusCode).toBe(404);
  const wrong = await browser.post('/dashboard/sources/new', { ...fields, query: '' });
  expect([wrong.statusCode, wrong.body.includes('role="alert"')]).toEqual([400, true]);
});

test('a failing source shows why, since when, what to do, and how many requests the service allows', async () => {
  const { store, tenant, clock } = made;
  await store.createSource(aSource({ tenantId: tenant.id, kind: 'stackexchange' }), 10);
  const [claimed] = await claimAt(store, clock.now());
  if (claimed === undefined) throw new Error('nothing is due');
  const error = {
    code: 'unauthorized',
    message: 'The host denied access (status 401).',
    at: clock.now(),
  };
  const quota = { remaining: 12, limit: 300, at: clock.now() };
  await store.finishSourceRun(aRun(claimed, { error, quota, itemsSeen: 3, itemsMatched: 2 }));
  const { body } = await browser.get(`/dashboard/sources/${claimed.source.id}`);
  for (const words of [
    'denied access',
    'Check the key',
    'First failed',
    '12 of 300',
    'The last run: 1 failed',
    '66.7%',
  ]) {
    expect(body).toContain(words);
  }
});

test('the plan page shows usage, and the outbox shows written mail', async () => {
  const plan = await browser.get('/dashboard/settings/plan');
  expect(plan.body).toContain('badge active">pro');
  for (const name of ['Webhooks', 'Sources', 'Signals', 'Leads'])
    expect(plan.body).toContain(`<strong>${name}</strong>`);
  const facts = { kind: 'message', subject: 'Hello <i>you</i>', text: 'The text.' } as const;
  const mail = { id: 'mail_1', tenantId: made.tenant.id, facts, createdAt: made.clock.now() };
  await made.store.addMail(mail);
  const outbox = await browser.get('/dashboard/settings/outbox');
  expect(outbox.body).toContain('Hello &lt;i&gt;you&lt;/i&gt;');
  expect(outbox.body).toContain('The text.');
});

test('with a mail server, mail in the outbox can be resent', async () => {
  const withMail = await buildTestApp({
    env: { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'a@example.com' },
  });
  const { store, tenant, clock } = withMail;
  const facts = { kind: 'message', subject: 'Hello', text: 'The text.' } as const;
  await store.addMail({ id: 'mal_1', tenantId: tenant.id, facts, createdAt: clock.now() });
  await store.markMailSent('mal_1', clock.now());
  const owner = await signedIn(withMail, tenant.id);
  const outbox = '/dashboard/settings/outbox';
  expect((await owner.get(outbox)).body).toContain('>Resend<');
  expect((await owner.post(`${outbox}/mal_1/resend`, {}, outbox)).statusCode).toBe(303);
  expect(await store.dueMail(clock.now(), 10)).toMatchObject([{ id: 'mal_1' }]);
  clock.advance(8 * 86_400_000);
  expect((await owner.get(outbox)).body).not.toContain('>Resend<');
  await withMail.app.close();
});

test('Today shows the next steps for a new account, then hot signals and what needs attention', async () => {
  const fresh = await browser.get('/dashboard');
  expect(fresh.body).toContain('Choose where to look');
  expect(fresh.body).not.toContain('Needs attention');
  const text =
    'Looking for a new CRM, any recommendations? Budget approved, we must decide by Friday this week.';
  const payload = { platform: { name: 'reddit' }, text, prospect: { name: 'Jane Hot', title: 'CEO' } };
  const posted = await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload });
  expect(posted.json().data.signals[0].classification).toBe('hot');
  const webhook = { url: 'http://127.0.0.1:9/hook', label: 'CRM' };
  const target = { method: 'POST', headers: made.auth } as const;
  const { id } = (await made.app.inject({ ...target, url: '/v1/webhooks', payload: webhook })).json().data;
  await made.app.inject({ ...target, url: `/v1/webhooks/${id}/pause` });
  const later = await browser.get('/dashboard');
  expect(later.body).toContain('Jane Hot');
  expect(later.body).toContain('Paused manually');
  expect(later.body).not.toContain('Choose where to look');
});

test('a reader sees every screen and can change nothing', async () => {
  const [owner] = await made.store.usersByEmail('owner@example.com', 1);
  expect(owner?.role).toBe('owner');
  const reader = await signedIn(await asReader(), made.tenant.id);
  expect((await reader.get(KEYS)).body).not.toContain('Create API key');
  expect((await reader.get('/dashboard/sources')).statusCode).toBe(200);
  for (const path of [KEYS, '/dashboard/sources/new', '/dashboard/settings/integrations/webhooks/new']) {
    expect([path, (await reader.post(path, { name: 'x' }, '/dashboard')).statusCode]).toEqual([path, 403]);
  }
  expect((await reader.post('/dashboard/logout', {}, '/dashboard')).statusCode).toBe(303);
});

/** The same app, with a reader in every session. */
async function asReader(): Promise<TestApp> {
  const find = made.store.findSession.bind(made.store);
  made.store.findSession = async (hash, now) => {
    const found = await find(hash, now);
    return found === null ? null : { ...found, user: { ...found.user, role: 'reader' } };
  };
  return made;
}
