import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';
import { formFields } from './form-fields.ts';

const START = '/dashboard/start';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function useDraft(offer = 'Scheduling software for heating engineers'): Promise<string> {
  const drafted = await browser.post(START, { offer, domain: 'vans.example' }, '/dashboard');
  const used = await browser.post(START, { ...formFields(drafted.body), act: 'use' });
  expect([used.statusCode, used.headers.location]).toEqual([303, START]);
  return (await browser.get(START)).body;
}

test('a new account is asked what it sells, and gets a profile, scored samples with reasons, and next steps', async () => {
  expect((await browser.get('/dashboard')).body).toContain('What you sell, in one line');
  const examples = await useDraft();
  const [profile, ...others] = await made.store.listProfiles(made.tenant.id);
  expect(profile?.phrases.join()).toContain('scheduling');
  expect(others).toEqual([]);
  const classes = [...examples.matchAll(/class="badge (hot|warm|cold)"/g)].map(([, name]) => name);
  expect(classes).toHaveLength(6);
  expect(new Set(classes)).toEqual(new Set(['hot', 'warm', 'cold']));
  expect(examples).toContain('<p>Looking for ');
  for (const next of ['Create API key', 'Connect Slack', 'Choose sources']) expect(examples).toContain(next);
  expect((await browser.get('/dashboard')).body).not.toContain('What you sell, in one line');
});

test('feedback on a sample counts for the profile, and one click removes all samples', async () => {
  await made.app.inject({
    method: 'POST',
    url: '/v1/webhooks',
    headers: made.auth,
    payload: { url: 'https://hooks.example.com/a' },
  });
  const [, id = ''] = /id="(sig_\w+)"/.exec(await useDraft()) ?? [];
  const judged = await browser.post(
    `/dashboard/signals/${id}/feedback`,
    { relevant: 'yes', from: 'start' },
    START,
  );
  expect(judged.headers.location).toBe(`${START}#${id}`);
  expect((await browser.get(START)).body).toMatch(/aria-pressed="true"/);
  expect((await browser.get(`/dashboard/signals/${id}`)).body).toContain('Samples are never sent anywhere.');
  expect((await browser.get('/dashboard')).body).toContain('Remove sample data');
  const sent = await made.app.inject({ url: '/v1/deliveries', headers: made.auth });
  expect(sent.json().data).toEqual([]);
  const removed = await browser.post(`${START}/samples`, {}, START);
  expect(removed.headers.location).toBe('/dashboard?done=samples-removed');
  const left = await made.app.inject({ url: '/v1/signals', headers: made.auth });
  expect(left.json().data).toEqual([]);
  expect((await browser.get('/dashboard')).body).not.toContain('Remove sample data');
});

test('repeating the set-up shows which profile the draft replaces', async () => {
  const offer = () => browser.post(START, { offer: 'Payroll for bakeries' }, '/dashboard');
  expect((await offer()).body).not.toContain('replaces your profile');
  await useDraft();
  await browser.post(`${START}/samples`, {}, START);
  const [profile] = await made.store.listProfiles(made.tenant.id);
  const again = (await offer()).body;
  expect(again).toContain('replaces your profile');
  expect(again).toContain(`/dashboard/profiles/${profile?.id}`);
});

test('an invalid line or domain is reported at its field, and the input is kept', async () => {
  const refused = await browser.post(START, { offer: '  ', domain: 'no domain' }, '/dashboard');
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain('value="no domain"');
  expect(refused.body).toMatch(/id="offer"[^>]*aria-invalid="true"/);
});

test('if a sample remains because it belongs to a lead, the button says so', async () => {
  await useDraft();
  const signals = (await made.app.inject({ url: '/v1/signals', headers: made.auth })).json().data;
  const payload = { name: 'Robin Sample', signal_ids: [signals[0].signal_id] };
  await made.app.inject({ method: 'POST', url: '/v1/leads', headers: made.auth, payload });
  const remove = () => browser.post(`${START}/samples`, {}, START);
  expect((await remove()).headers.location).toBe('/dashboard?done=samples-removed');
  const again = (await remove()).headers.location;
  expect((await browser.get(String(again))).body).toContain('belongs to a lead and stays with it');
});

test('samples belong only to their tenant', async () => {
  await useDraft();
  const { tenant, auth } = await made.addTenant();
  expect(await made.store.removeSignalsOf(tenant.id, 'sample')).toBe(0);
  expect((await made.app.inject({ url: '/v1/signals', headers: auth })).json().data).toEqual([]);
  expect(await made.store.hasSignalsOf(made.tenant.id, 'sample')).toBe(true);
});

test('each phrase is a checkbox with its number of matching stored posts, and two totals are shown', async () => {
  for (const text of ['Which help desk do you use?', 'Our help desk is slow.', 'Any help desk for a shop?']) {
    const payload = { platform: { name: 'forum' }, text, external_id: text };
    await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload });
  }
  const { body } = await browser.post(START, { offer: 'Help desk for online shops' }, '/dashboard');
  expect(body).toMatch(/name="phrases" value="help desk" checked><span>help desk <span class="soft">3 posts/);
  const reach = body.slice(body.indexOf('class="reach"'), body.indexOf('</dl>'));
  expect(reach.match(/<dd>/g)).toHaveLength(2);
  expect(formFields(body).phrases).toContain('help desk');
});

test('an ambiguous line prompts a question, and the profile is drafted from the answer', async () => {
  const asked = await browser.post(START, { offer: 'Plumbing' }, '/dashboard');
  expect(asked.body).toContain('Do you sell to plumbers, or are you one?');
  const [, offer = ''] = /name="offer" value="([^"]*)"[\s\S]*?We sell to plumbers/.exec(asked.body) ?? [];
  const answered = await browser.post(START, { offer }, '/dashboard');
  expect(answered.body).not.toContain('or are you one?');
  expect(answered.body).not.toContain('value="plumber"');
});

test('a line that names nothing is refused with a hint, and unknown competitors are admitted', async () => {
  const refused = await browser.post(START, { offer: 'asdf' }, '/dashboard');
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain('Say what you sell and to whom');
  const drafted = await browser.post(START, { offer: 'Hand-made leather saddles' }, '/dashboard');
  expect(drafted.body).toContain('We don’t know any competitors of yours.');
});

test('clearing checkboxes turns off phrases and signal types', async () => {
  const drafted = await browser.post(START, { offer: 'Help desk for online shops' }, '/dashboard');
  const fields = { ...formFields(drafted.body), act: 'use', phrases: ['help desk', 'our own\nwords'] };
  await browser.post(START, { ...fields, signal_types: ['intent_post', 'qa_forum'] });
  const [profile] = await made.store.listProfiles(made.tenant.id);
  expect(profile?.phrases).toEqual(['help desk', 'our own', 'words']);
  expect(profile?.signalTypes).toEqual(['intent_post', 'qa_forum']);
});
