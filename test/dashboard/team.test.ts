import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, memberSignedIn, PASSWORD, signedIn, TestBrowser } from './browser-session.ts';

const TEAM = '/dashboard/settings/team';

let made: TestApp;
let owner: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  owner = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function idOf(email: string): Promise<string> {
  const members = await made.store.listMembers(made.tenant.id);
  return members.find((member) => member.email === email)?.id ?? '';
}

test('an owner invites with a link that is shown once and mailed; whoever uses it gets the role', async () => {
  const invited = await owner.post(TEAM, { email: ' Dana@Example.com', role: 'reader' });
  const [, token = ''] = /dashboard\/setup#token=([\w-]+)/.exec(invited.body) ?? [];
  expect((await owner.get(TEAM)).body).not.toContain('#token=');
  const [mail] = await made.store.dueMail(made.clock.now(), 10);
  expect(mail).toMatchObject({ to: 'dana@example.com', facts: { kind: 'invitation', role: 'reader' } });
  const outbox = (await owner.get('/dashboard/settings/outbox')).body;
  expect(outbox).toContain('You are invited to Acme');
  expect(outbox + JSON.stringify(mail)).not.toContain(token);

  const dana = new TestBrowser(made.app);
  expect((await dana.post('/dashboard/setup', { token, password: PASSWORD })).statusCode).toBe(303);
  expect((await dana.get('/dashboard/settings/account')).body).toContain('dana@example.com, reader of Acme');
});

test('an invalid address, or one that is already in use, is refused at its field', async () => {
  for (const email of ['nobody', 'OWNER@example.com']) {
    const answer = await owner.post(TEAM, { email, role: 'member' });
    expect([email, answer.statusCode]).toEqual([email, 400]);
    expect(answer.body).toContain(`value="${email}" aria-invalid="true"`);
  }
});

test('a new invitation replaces the previous one, and a person with a password gets none', async () => {
  await owner.post(TEAM, { email: 'dana@example.com', role: 'member' });
  const id = await idOf('dana@example.com');
  const renewed = await owner.post(`${TEAM}/${id}/link`, {}, TEAM);
  const [, token = ''] = /#token=([\w-]+)/.exec(renewed.body) ?? [];
  const dana = new TestBrowser(made.app);
  expect((await dana.post('/dashboard/setup', { token, password: PASSWORD })).statusCode).toBe(303);
  expect((await owner.post(`${TEAM}/${id}/link`, {}, TEAM)).statusCode).toBe(409);
});

test('a new role applies from the next request, and a removed person is signed out immediately', async () => {
  const dana = await memberSignedIn(made, { email: 'dana@example.com', role: 'owner' });
  const id = await idOf('dana@example.com');
  expect((await owner.post(`${TEAM}/${id}/role`, { role: 'reader' }, TEAM)).statusCode).toBe(303);
  const token = csrfOf((await dana.get('/dashboard')).body);
  expect((await dana.send(TEAM, { _csrf: token, email: 'x@example.com' })).statusCode).toBe(403);
  const asked = await owner.get(`${TEAM}/${id}/remove`);
  expect(asked.body).toContain('Remove dana@example.com?');
  expect((await owner.post(`${TEAM}/${id}/remove`, {}, TEAM)).statusCode).toBe(303);
  expect((await dana.get('/dashboard')).headers.location).toContain('/dashboard/login');
  expect((await owner.get(`${TEAM}/${id}/remove`)).statusCode).toBe(404);
});

test('the last owner can neither leave nor be given a lower role', async () => {
  const id = await idOf('owner@example.com');
  for (const [act, fields] of [
    ['remove', {}],
    ['role', { role: 'member' }],
  ] as const) {
    const answer = await owner.post(`${TEAM}/${id}/${act}`, fields, TEAM);
    expect(answer.statusCode).toBe(409);
    expect(answer.body).toContain('The account must keep an owner');
  }
  await memberSignedIn(made, { email: 'dana@example.com', role: 'owner' });
  expect((await owner.post(`${TEAM}/${id}/remove`, {}, TEAM)).statusCode).toBe(303);
  expect((await owner.get('/dashboard')).statusCode).toBe(303);
});

test("another tenant's people are not found", async () => {
  const { tenant } = await made.addTenant();
  const [other] = await made.store.listMembers(tenant.id);
  for (const act of ['role', 'link', 'remove']) {
    expect((await owner.post(`${TEAM}/${other?.id}/${act}`, { role: 'reader' }, TEAM)).statusCode).toBe(404);
  }
  expect((await owner.get(`${TEAM}/${other?.id}/remove`)).statusCode).toBe(404);
  expect(await made.store.listMembers(tenant.id)).toEqual([other]);
});
