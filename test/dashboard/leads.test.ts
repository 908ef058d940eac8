import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';
import { HOSTILE, isHarmless } from './hostile.ts';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function aLead(payload: object, auth = made.auth): Promise<string> {
  const answer = await made.app.inject({ method: 'POST', url: '/v1/leads', headers: auth, payload });
  expect(answer.statusCode).toBe(201);
  return answer.json().data.id;
}

async function stageOf(id: string): Promise<string> {
  return (await made.app.inject({ url: `/v1/leads/${id}`, headers: made.auth })).json().data.stage;
}

test('leads are listed, can be searched, and are shown with the source of each fact', async () => {
  expect((await browser.get('/dashboard/leads')).body).toContain('No leads yet');
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com', title: 'CTO', tags: ['fair'] });
  await aLead({ name: 'Bo Berg', email: 'bo@other.com' });
  const found = (await browser.get('/dashboard/leads?q=ann&stage=new&tag=fair')).body;
  expect(found).toContain('Ann Lee');
  expect(found).not.toContain('Bo Berg');
  expect((await browser.get('/dashboard/leads?stage=won')).body).toContain('No leads match');
  const { body } = await browser.get(`/dashboard/leads/${id}`);
  expect(body).toMatch(
    /<dt>Title<\/dt><dd>CTO <span class="from">entered manually or through the API · 100% confidence/,
  );
  expect(body).toContain('Added as New');
});

test('a lead is moved by a form, which asks for missing fields and keeps the input', async () => {
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com' });
  const page = `/dashboard/leads/${id}`;
  const board = `/dashboard/pipeline/${id}/stage`;
  const moved = await browser.post(board, { stage: 'engaged', expected_stage: 'new' }, '/dashboard/pipeline');
  expect([moved.statusCode, moved.headers.location]).toEqual([303, `/dashboard/pipeline?done=moved#${id}`]);
  const again = await browser.post(`${page}/stage`, { stage: 'engaged' }, page);
  expect(again.headers.location).toBe(`${page}?done=in-stage`);
  expect((await browser.get(again.headers.location ?? '')).body).toContain('It is already in that stage');
  const lost = await browser.post(`${page}/stage`, { stage: 'lost' }, page);
  expect(lost.statusCode).toBe(400);
  expect(lost.body).toContain('<option value="lost" selected>');
  expect(lost.body).toContain('Add a reason for losing this lead.');
  const stale = await browser.post(`${page}/stage`, { stage: 'won', expected_stage: 'new' }, page);
  expect(stale.body).toContain('The lead is in &quot;engaged&quot;');
  expect(await stageOf(id)).toBe('engaged');
  await browser.post(`${page}/stage`, { stage: 'lost', reason: 'No budget' }, page);
  const { body } = await browser.get(page);
  expect(body).toContain('Engaged → Lost');
  expect(body).toContain('No budget');
  expect(body).toContain('by owner@example.com');
});

test('the board shows value and days in stage, and moves leads without a script', async () => {
  expect((await browser.get('/dashboard/pipeline')).body).toContain('No leads in the pipeline yet');
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com' });
  const page = `/dashboard/leads/${id}`;
  const wrong = await browser.post(
    `${page}/deal`,
    { amount_minor: '12,5x', currency: 'USD', status: 'open' },
    page,
  );
  expect(wrong.statusCode).toBe(400);
  expect(wrong.body).toContain('value="12,5x"');
  await browser.post(`${page}/deal`, { amount_minor: '1,299.50', currency: 'usd', status: 'open' }, page);
  made.clock.advance(3 * 86_400_000);
  const { body } = await browser.get('/dashboard/pipeline');
  expect(body.match(/USD 1,299\.50/g)).toHaveLength(2);
  expect(body).toContain('3 days<span class="hidden"> in stage');
  expect(body).toContain(`action="/dashboard/pipeline/${id}/stage"`);
});

test('a person is erased after a confirmation', async () => {
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com' });
  const asked = await browser.get(`/dashboard/leads/${id}/erase`);
  expect(asked.body).toContain('Erase Ann Lee?');
  expect((await browser.get(`/dashboard/leads/${id}`)).statusCode).toBe(200);
  const done = await browser.post(`/dashboard/leads/${id}/erase`, {}, `/dashboard/leads/${id}/erase`);
  expect(done.headers.location).toBe('/dashboard/leads?done=deleted');
  expect((await browser.get(`/dashboard/leads/${id}`)).statusCode).toBe(404);
});

test("another tenant's lead can be neither read nor changed", async () => {
  const other = await made.addTenant();
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com' }, other.auth);
  for (const path of ['', '/erase']) {
    expect((await browser.get(`/dashboard/leads/${id}${path}`)).statusCode).toBe(404);
  }
  for (const act of ['stage', 'deal', 'erase']) {
    const fields = { stage: 'won', amount_minor: '1', currency: 'USD', status: 'open' };
    const answer = await browser.post(`/dashboard/leads/${id}/${act}`, fields, '/dashboard');
    expect([act, answer.statusCode]).toEqual([act, 404]);
  }
  for (const path of ['leads', 'pipeline']) {
    expect((await browser.get(`/dashboard/${path}`)).body).not.toContain('Ann Lee');
  }
  const kept = await made.app.inject({ url: `/v1/leads/${id}`, headers: other.auth });
  expect(kept.json().data).toMatchObject({ stage: 'new', deal: null });
});

test('text by strangers is escaped on every lead screen', async () => {
  const id = await aLead({
    name: HOSTILE,
    email: 'evil@example.com',
    title: HOSTILE,
    source: HOSTILE,
    company: { name: HOSTILE, domain: 'evil.example', industry: HOSTILE, location: HOSTILE },
    tags: [HOSTILE.slice(0, 50)],
    custom_fields: { note: HOSTILE },
  });
  await browser.post(
    `/dashboard/leads/${id}/stage`,
    { stage: 'lost', reason: HOSTILE },
    `/dashboard/leads/${id}`,
  );
  for (const url of [
    `/dashboard/leads?q=evil`,
    `/dashboard/leads/${id}`,
    `/dashboard/leads/${id}/erase`,
    '/dashboard/pipeline',
  ]) {
    isHarmless((await browser.get(url)).body);
  }
});

test('owner, notes and next step are set by forms, and a due step is on Today until it is done', async () => {
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com' });
  const page = `/dashboard/leads/${id}`;
  const today = new Date(made.clock.now()).toISOString().slice(0, 10);
  const fields = { owner: 'owner@example.com', notes: 'Wants SSO.', step: 'Call about SSO', due_date: today };
  const wrong = await browser.post(`${page}/follow-up`, { ...fields, step: '' }, page);
  expect(wrong.statusCode).toBe(400);
  expect(wrong.body).toContain('Describe the next step');
  expect(wrong.body).toContain('Wants SSO.</textarea>');
  expect((await browser.get('/dashboard')).body).not.toContain('Follow up');
  await browser.post(`${page}/follow-up`, fields, page);
  expect((await browser.get(page)).body).toContain('<option value="owner@example.com" selected>');
  expect((await browser.get('/dashboard')).body).toMatch(/today<\/span> <a href="[^"]+">Call about SSO<\/a>/);
  const list = (await browser.get('/dashboard/leads')).body;
  expect(list).toContain(`Next: Call about SSO, due ${today}</span>`);
  expect(list).toContain('<span class="sub">yours</span>');
  made.clock.advance(86_400_000);
  expect((await browser.get('/dashboard')).body).toContain(`due ${today}`);
  await browser.post(`${page}/stage`, { stage: 'won' }, page);
  expect((await browser.get('/dashboard')).body).not.toContain('Call about SSO');
});

test('a lead marked as won on its page is won on the board', async () => {
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com' });
  const page = `/dashboard/leads/${id}`;
  await browser.post(`${page}/deal`, { amount_minor: '4800', currency: 'USD' }, page);
  await browser.post(`${page}/stage`, { stage: 'won' }, page);
  const { body } = await browser.get('/dashboard/pipeline');
  const won = body.slice(body.indexOf('data-stage="won"'), body.indexOf('data-stage="lost"'));
  expect(won.match(/USD 4,800/g)).toHaveLength(2);
  expect((await browser.get(page)).body).toMatch(/USD 4,800<\/strong> <span class="badge won">won/);
});

test('a card shows headline, score, owner and age, and a lead without a name is shown by its headline', async () => {
  const text = 'Looking for a CRM for our agency\nWe have budget and decide this month.';
  const signal = { platform: { name: 'reddit', post_url: 'https://reddit.com/r/x/1' }, text };
  const id = await aLead({ signal: { ...signal, prospect: { linkedin_url: 'https://linkedin.com/in/x' } } });
  await browser.post(
    `/dashboard/leads/${id}/follow-up`,
    { owner: 'owner@example.com' },
    `/dashboard/leads/${id}`,
  );
  const { body } = await browser.get('/dashboard/pipeline');
  const card = body.slice(body.indexOf(`<li class="card-small" id="${id}"`)).split('</li>')[0] ?? '';
  expect(card).toMatch(/>Looking for a CRM for our agency<\/a>/);
  expect(card).toMatch(/<span class="badge (?:hot|warm|cold)">\d+</);
  expect(card).toContain('<span title="owner@example.com">owner</span>');
  for (const path of ['leads', `leads/${id}`, 'pipeline']) {
    const page = (await browser.get(`/dashboard/${path}`)).body;
    expect([path, page.includes('Looking for a CRM for our agency')]).toEqual([path, true]);
    expect([path, page.includes(`>${id}<`)]).toEqual([path, path === `leads/${id}`]); // among its facts
  }
});

test('the board asks why a lead was lost, and stays open', async () => {
  const id = await aLead({ name: 'Ann Lee', email: 'ann@acme.com' });
  const act = `/dashboard/pipeline/${id}/stage`;
  const asked = await browser.post(act, { stage: 'lost', expected_stage: 'new' }, '/dashboard/pipeline');
  expect(asked.statusCode).toBe(400);
  expect(asked.body).toContain('Why was Ann Lee lost?');
  expect(asked.body).toContain('aria-label="Board"');
  const stale = await browser.post(act, { stage: 'won', expected_stage: 'engaged' }, '/dashboard/pipeline');
  expect(stale.body).toMatch(/role="alert">The lead is in &quot;new&quot;/);
  const done = await browser.post(act, { stage: 'lost', reason: 'No budget' }, '/dashboard/pipeline');
  expect(done.headers.location).toBe(`/dashboard/pipeline?done=moved#${id}`);
  expect((await browser.get(act)).headers.location).toBe('/dashboard/pipeline');
});

test('the board shows how many leads reached each stage, and how long they stayed there', async () => {
  const ids = [await aLead({ email: 'a@acme.com' }), await aLead({ email: 'b@acme.com' })];
  made.clock.advance(2 * 86_400_000);
  for (const id of ids) {
    await browser.post(`/dashboard/pipeline/${id}/stage`, { stage: 'contacted' }, '/dashboard/pipeline');
  }
  await browser.post(`/dashboard/pipeline/${ids[0]}/stage`, { stage: 'won' }, '/dashboard/pipeline');
  const { body } = await browser.get('/dashboard/pipeline');
  const row = (stage: string) => new RegExp(`<th scope="row">${stage}</th>(.*?)</tr>`).exec(body)?.[1] ?? '';
  expect(row('New')).toMatch(/>2<.*>2\.0</);
  expect(row('Contacted')).toMatch(/>2<.*>100%<.*>0\.0</);
  expect(row('Won')).toMatch(/>1<.*>100%</);
});
