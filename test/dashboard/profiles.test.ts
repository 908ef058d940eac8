import { afterEach, beforeEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

const NEW = '/dashboard/profiles/new';

test('a profile is drafted from a sentence, which stores nothing, and made of the draft', async () => {
  const drafted = await browser.post(NEW, {
    act: 'draft',
    offer: 'Scheduling software for heating engineers',
  });
  expect(drafted.body).toMatch(/<textarea id="phrases"[^>]*>[^<]*scheduling/i);
  expect(await made.store.listProfiles(made.tenant.id)).toHaveLength(1);
  const fields = fieldsOf(drafted.body);
  const created = await browser.post(NEW, { ...fields, name: 'Heating' });
  expect(created.headers.location).toMatch(/^\/dashboard\/profiles\/icp_\w+\?done=created$/);
  const profiles = await made.store.listProfiles(made.tenant.id);
  const heating = profiles.find(({ name }) => name === 'Heating');
  expect(heating?.active).toBe(true);
  expect(heating?.phrases).toEqual(fields.phrases?.split('\n'));
});

test('saving what the editor shows changes nothing, and a preview tells what a change would do', async () => {
  const [before] = await made.store.listProfiles(made.tenant.id);
  const page = `/dashboard/profiles/${before?.id}`;
  await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload: aPost() });
  const fields = fieldsOf((await browser.get(page)).body);
  expect((await browser.post(page, fields)).headers.location).toBe(`${page}?done=saved`);
  const [after] = await made.store.listProfiles(made.tenant.id);
  expect(after).toEqual({ ...before, updatedAt: after?.updatedAt, version: after?.version });
  const wish = { ...fields, phrases: 'heat pump', weight_topic: '90', act: 'preview' };
  const preview = await browser.post(page, wish);
  expect(preview.body).toContain('What it would do');
  expect(preview.body).toMatch(/Of the newest 1 post/);
  expect((await made.store.listProfiles(made.tenant.id))[0]?.phrases).toEqual(before?.phrases);
});

test('a refused profile keeps what was typed; the last one stays; that of another tenant is not there', async () => {
  const [only] = await made.store.listProfiles(made.tenant.id);
  const page = `/dashboard/profiles/${only?.id}`;
  const wrong = await browser.post(page, {
    ...fieldsOf((await browser.get(page)).body),
    hot: '10',
    warm: '50',
  });
  expect([
    wrong.statusCode,
    wrong.body.includes('id="hot" name="hot" type="number" min="1" max="100" value="10"'),
  ]).toEqual([400, true]);
  expect((await browser.post(`${page}/delete`, {}, page)).statusCode).toBe(409);
  const { tenant } = await made.addTenant();
  const [other] = await made.store.listProfiles(tenant.id);
  expect((await browser.get(`/dashboard/profiles/${other?.id}`)).statusCode).toBe(404);
  expect((await browser.post(`/dashboard/profiles/${other?.id}/delete`, {}, page)).statusCode).toBe(404);
});

/** What a browser would send of the editor as it stands. */
function fieldsOf(html: string): Record<string, string> {
  const fields: Record<string, string> = {};
  const text = (raw: string) =>
    raw
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&');
  for (const [, name = '', value = ''] of html.matchAll(/<textarea [^>]*name="(\w+)"[^>]*>([^<]*)</g))
    fields[name] = text(value);
  for (const [tag, name = ''] of html.matchAll(/<input id="\w+" name="(\w+)"[^>]*>/g)) {
    fields[name] = text(/value="([^"]*)"/.exec(tag)?.[1] ?? '');
  }
  if (/name="active" checked/.test(html)) fields.active = 'on';
  return fields;
}
