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

const post = (text: string) =>
  made.app.inject({
    ...{ method: 'POST', url: '/v1/signals', headers: made.auth },
    payload: { ...aPost(), text, platform: { name: 'reddit' } },
  });
const today = async () => (await browser.get('/dashboard')).body;

test('today tells what has changed since the last visit, which ends after half an hour', async () => {
  await post('It rains, and we need nothing at all.');
  expect(await today()).not.toContain('Since your last visit');
  made.clock.advance(10 * 60_000);
  expect(await today()).not.toContain('Since your last visit');
  made.clock.advance(40 * 60_000);
  expect(await today()).toContain('Nothing has changed.');
  await post(aPost().text);
  expect(await today()).toMatch(/<strong>1<\/strong> hot signal<[\s\S]*<strong>1<\/strong> signal in all/);
  made.clock.advance(60 * 60_000);
  expect(await today()).toContain('Nothing has changed.');
});

test('a hot signal says why, and one click adds its author to the pipeline', async () => {
  await post(`${aPost().text} We must decide by Friday this week.`);
  const page = await today();
  expect(page).toContain('<p>Looking for a new CRM');
  const [, one = ''] = /value="(lead sig_\w+)"/.exec(page) ?? [];
  const added = await browser.post('/dashboard/signals/triage', { one, back: 'today' }, '/dashboard');
  expect(added.headers.location).toContain('done=added');
  expect(await today()).toContain('In the pipeline');
});

test('what somebody has called not relevant stands on Today no more', async () => {
  for (const text of [aPost().text, `${aPost().text} We must decide by Friday this week.`]) await post(text);
  const shown = async () => [...(await today()).matchAll(/data-key="(sig_\w+)"/g)].map(([, id]) => id ?? '');
  const [newest = '', older] = await shown();
  expect(older).toMatch(/^sig_/);
  const signal = `/dashboard/signals/${newest}`;
  await browser.post(`${signal}/feedback`, { relevant: 'no', reason: 'A student.' }, signal);
  expect(await shown()).toEqual([older]);
  await browser.post(`${signal}/feedback`, { relevant: 'yes' }, signal);
  expect(await shown()).toEqual([newest, older]);
});

test('a hot signal that is stored late stands first, though it was detected before those that are shown', async () => {
  for (let n = 0; n < 30; n++) {
    made.clock.advance(1_000);
    expect((await post(`${aPost().text} For ${n} vans.`)).statusCode).toBe(201);
  }
  made.clock.stepWall(-60_000);
  const late = (await post(`${aPost().text} For a fleet of trucks.`)).json().data.signals[0];
  made.clock.stepWall(60_000);
  expect(late.classification).toBe('hot');
  const shown = [...(await today()).matchAll(/data-key="(sig_\w+)"/g)].map(([, id]) => id);
  expect(shown).toHaveLength(6);
  expect(shown[0]).toBe(late.signal_id);
});

test('what was stored since the last visit is counted, also where it was detected before it', async () => {
  await post('It rains, and we need nothing at all.');
  await today();
  made.clock.stepWall(-5_000);
  await post(aPost().text); // detected before that visit, and stored after it
  made.clock.stepWall(5_000);
  made.clock.advance(60 * 60_000);
  const page = await today();
  expect(page).toMatch(/<strong>1<\/strong> hot signal<[\s\S]*<strong>1<\/strong> signal in all/);
  const [, address = ''] = /href="([^"]*classification=hot[^"]*)"/.exec(page) ?? [];
  expect((await browser.get(address.replaceAll('&amp;', '&'))).body).toContain('data-key="sig_');
});
