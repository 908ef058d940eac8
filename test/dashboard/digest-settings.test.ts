import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { memberSignedIn, signedIn, type TestBrowser } from './browser-session.ts';
import { formFields } from './form-fields.ts';

const PAGE = '/dashboard/settings/digest';

let made: TestApp;
let owner: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  owner = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

const settings = async () => (await made.app.inject({ url: '/v1/settings', headers: made.auth })).json().data;

test('saving the unmodified screen changes nothing, and each choice is stored', async () => {
  const before = await settings();
  const fields = formFields((await owner.get(PAGE)).body);
  await owner.post(PAGE, fields);
  expect(await settings()).toEqual(before);
  const [profile] = await made.store.listProfiles(made.tenant.id);
  const choice = {
    frequency: 'weekly',
    hour: '17',
    timezone: 'Europe/Berlin',
    icp_profile_ids: [profile?.id ?? ''],
  };
  const saved = await owner.post(PAGE, { ...fields, ...choice });
  expect(saved.headers.location).toBe(`${PAGE}?done=saved`);
  expect(await settings()).toMatchObject({
    timezone: 'Europe/Berlin',
    digest: { enabled: true, hour: 17, frequency: 'weekly', icp_profile_ids: [profile?.id] },
  });
});

test('an invalid time zone is reported at its field, and nothing is saved', async () => {
  const before = await settings();
  const refused = await owner.post(PAGE, { ...formFields((await owner.get(PAGE)).body), timezone: 'Mars' });
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain('must be an IANA time zone');
  expect(await settings()).toEqual(before);
});

test('a new member gets the digest, can unsubscribe themselves, and cannot change it for anybody else', async () => {
  const reader = await memberSignedIn(made, { email: 'reader@example.com', role: 'reader' });
  expect((await settings()).digest.recipients).toContain('reader@example.com');
  await reader.post(`${PAGE}/mine`, {}, PAGE);
  expect((await settings()).digest.recipients).not.toContain('reader@example.com');
  expect((await reader.get(PAGE)).body).toContain('You don’t receive the digest.');
  await reader.post(`${PAGE}/mine`, { wanted: 'on' }, PAGE);
  expect((await settings()).digest.recipients).toContain('reader@example.com');
  expect((await reader.post(PAGE, { hour: '3' }, PAGE)).statusCode).toBe(403);
});
