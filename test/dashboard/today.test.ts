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

test('Today shows what has changed since the last visit, which ends after half an hour', async () => {
  await post('It rains, and we need nothing at all.');
  expect(await today()).not.toContain('Since your last visit');
  made.clock.advance(10 * 60_000);
  expect(await today()).not.toContain('Since your last visit');
  made.clock.advance(40 * 60_000);
  expect(await today()).toContain('Nothing has changed.');
  await post(aPost().text);
  expect(await today()).toMatch(/<strong>1<\/strong> hot signal<[\s\S]*<strong>1<\/strong> signal in total/);
  made.clock.advance(60 * 60_000);
  expect(await today()).toContain('Nothing has changed.');
});

test('a hot signal shows its reason, and one click adds its author to the pipeline', async () => {
  await post(`${aPost().text} We must decide by Friday this week.`);
  const page = await today();
  expect(page).toContain('<p>Looking for a new CRM');
  const [, one = ''] = /value="(lead sig_\w+)"/.exec(page) ?? [];
  const added = await browser.post('/dashboard/signals/triage', { one, back: 'today' }, '/dashboard');
  expect(added.headers.location).toContain('done=added');
  // Signals in the pipeline have been dealt with.
  expect(await today()).toContain('No hot signals are waiting');
});

test('a new post by somebody already in the pipeline is news', async () => {
  const payload = { name: 'Ann Lee', email: 'ann@acme.com' };
  await made.app.inject({ method: 'POST', url: '/v1/leads', headers: made.auth, payload });
  made.clock.advance(60_000);
  const url = '/v1/signals';
  const again = { ...aPost(), external_id: 'again', prospect: payload };
  const { statusCode } = await made.app.inject({ method: 'POST', url, headers: made.auth, payload: again });
  expect(statusCode).toBe(201);
  expect(await today()).toMatch(/<a href="\/dashboard\/leads\/led_\w+">In the pipeline<\/a>/);
});

test('the best of the newest hot signals is listed first', async () => {
  const scoreOf = async (text: string) => (await post(text)).json().data.signals[0].icp_score;
  const best = await scoreOf(aPost().text);
  made.clock.advance(60_000);
  const newer = await scoreOf('Can anyone recommend a CRM? We are comparing two and want to switch.');
  expect(newer).toBeGreaterThanOrEqual(70);
  expect(newer).toBeLessThan(best);
  const scores = [...(await today()).matchAll(/hot · (\d+)</g)].map(([, score]) => Number(score));
  expect(scores).toEqual([best, newer]);
});

test('signals judged not relevant no longer appear on Today', async () => {
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

test('a hot signal that is stored late is listed first, even if it was detected before the ones shown', async () => {
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

test('signals stored since the last visit are counted, even if they were detected before it', async () => {
  await post('It rains, and we need nothing at all.');
  await today();
  made.clock.stepWall(-5_000);
  await post(aPost().text); // detected before that visit, stored after it
  made.clock.stepWall(5_000);
  made.clock.advance(60 * 60_000);
  const page = await today();
  expect(page).toMatch(/<strong>1<\/strong> hot signal<[\s\S]*<strong>1<\/strong> signal in total/);
  const [, address = ''] = /href="([^"]*classification=hot[^"]*)"/.exec(page) ?? [];
  expect((await browser.get(address.replaceAll('&amp;', '&'))).body).toContain('data-key="sig_');
});

test('a due next step can be completed or postponed on Today, and shows who is responsible', async () => {
  const ask = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
    const answer = await made.app.inject({ method, url, headers: made.auth, payload });
    expect(answer.statusCode).toBeLessThan(300);
    return answer.json().data;
  };
  const { id } = await ask('POST', '/v1/leads', { name: 'Ann Lee', email: 'ann@acme.com' });
  const day = (offset: number) => new Date(made.clock.now() + offset * 86_400_000).toISOString().slice(0, 10);
  const step = { text: 'Call about <pricing>', due_date: day(-1) };
  await ask('PATCH', `/v1/leads/${id}`, { next_step: step, owner: 'owner@example.com' });
  const page = await today();
  expect(page).toContain('Call about &lt;pricing&gt;</a> <span class="soft">Ann Lee, due ');
  expect(page).toContain(', yours</span>');
  const act = (fields: Record<string, string>) =>
    browser.post(`/dashboard/leads/${id}/step`, fields, '/dashboard');
  const shown = { step: step.text, due_date: step.due_date };
  expect((await act({ ...shown, act: '7' })).headers.location).toBe('/dashboard?done=step-moved');
  const lead = async () =>
    (await made.app.inject({ url: `/v1/leads/${id}`, headers: made.auth })).json().data.next_step;
  expect(await lead()).toEqual({ text: step.text, due_date: day(7) });
  expect(await today()).not.toContain('Follow up');
  await ask('PATCH', `/v1/leads/${id}`, { next_step: { text: 'Send the offer', due_date: day(0) } });
  expect((await act({ ...shown, act: 'done' })).headers.location).toBe('/dashboard?done=step-changed');
  expect(await lead()).toEqual({ text: 'Send the offer', due_date: day(0) });
  const done = await act({ step: 'Send the offer', due_date: day(0), act: 'done' });
  expect((await browser.get(String(done.headers.location))).body).toContain(
    'Done. The lead has no next step now.',
  );
  expect(await lead()).toBeNull();
});

test('the last thirty days are shown as figures and a chart, with a table of every day', async () => {
  expect(await today()).not.toContain('Last 30 days');
  for (const text of [aPost().text, `${aPost().text} We must decide by Friday this week.`]) await post(text);
  made.clock.advance(2 * 86_400_000);
  const [, id = ''] = /"signal_id":"(sig_\w+)"/.exec((await post(`${aPost().text} For 12 vans.`)).body) ?? [];
  const ask = (method: 'POST' | 'PUT', url: string, payload: object) =>
    made.app.inject({ method, url, headers: made.auth, payload });
  await ask('POST', `/v1/signals/${id}/feedback`, { relevant: true });
  const lead = (await ask('POST', '/v1/leads', { email: 'ann@acme.com' })).json().data.id;
  await ask('PUT', `/v1/pipeline/${lead}/deal`, { amount_minor: 480_000, currency: 'USD' });
  const page = await today();
  expect(page).toMatch(
    /<strong>3<\/strong> new hot.*<strong>1<\/strong> rated.*<strong>1<\/strong> lead added/s,
  );
  expect(page).toContain('<strong>USD 4,800</strong> in the pipeline');
  const [, table = ''] = /<figure class="plot">(.*?)<\/figure>/s.exec(page) ?? [];
  expect(table).toContain('Hot: 3 in total, at most 2; Warm: 0 in total');
  expect(table.match(/<tr><th scope="row">/g)).toHaveLength(30);
});
