import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';
import { HOSTILE, isHarmless, postSignal } from './hostile.ts';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function create(url: string, payload: object, auth = made.auth): Promise<string> {
  const answer = await made.app.inject({ method: 'POST', url, headers: auth, payload });
  expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
  return answer.json().data.id;
}

async function aCompany(auth = made.auth, name = 'Acme'): Promise<string> {
  await postSignal(
    { app: made.app, auth },
    {
      text: 'Can anyone recommend a CRM?',
      prospect: { name },
      company: { name, domain: 'acme.example', industry: name, location: name },
    },
  );
  const found = await made.app.inject({ url: '/v1/companies/acme.example', headers: auth });
  return found.json().data.id;
}

describe('companies', () => {
  test('are listed and can be searched, and each shows its facts, signals and people', async () => {
    expect((await browser.get('/dashboard/companies')).body).toContain('No companies yet');
    const id = await aCompany();
    expect((await browser.get('/dashboard/companies?q=acm&sort=-last_signal_at')).body).toContain(id);
    expect((await browser.get('/dashboard/companies?q=other')).body).toContain('No companies match');
    for (const named of [id, 'acme.example']) {
      const { body } = await browser.get(`/dashboard/companies/${named}`);
      expect(body).toMatch(/found in <a href="\/dashboard\/signals\/sig_/);
      expect(body).toMatch(/<dt>Last 7 days<\/dt><dd>1</);
      expect(body).toContain('Signals: 1 in total, at most 1');
    }
  });
});

describe('campaigns', () => {
  test('each shows its chart with the underlying numbers, and can be advanced', async () => {
    expect((await browser.get('/dashboard/campaigns')).body).toContain('No campaigns yet');
    const id = await create('/v1/campaigns', { name: 'Spring', status: 'active' });
    const page = `/dashboard/campaigns/${id}`;
    expect((await browser.get(page)).body).toContain('No events yet');
    const events = ['2026-01-01', '2026-01-02', '2026-01-03'].flatMap((day) => [
      { event_id: `s${day}`, type: 'sent', email: `${day}@x.example`, occurred_at: `${day}T10:00:00Z` },
      { event_id: `r${day}`, type: 'replied', email: `${day}@x.example`, occurred_at: `${day}T11:00:00Z` },
    ]);
    made.clock.advance(5 * 86_400_000);
    const url = `/v1/campaigns/${id}/events`;
    const sent = await made.app.inject({ method: 'POST', url, headers: made.auth, payload: { events } });
    expect([sent.statusCode, sent.body]).toEqual([200, expect.any(String)]);
    const { body } = await browser.get(page);
    expect(body).toMatch(/<path class="curve look-one" d="M5 50L15 50L25 50"/);
    expect(body).toContain('Events per day, 1 Jan to 3 Jan 2026, UTC');
    expect(body).toContain('Sent: 3 in total, at most 1; Opened: 0 in total');
    expect(body).toContain('3 people contacted');
    const moved = await browser.post(`${page}/status`, { status: 'paused' }, page);
    expect(moved.headers.location).toBe(`${page}?done=saved`);
    const refused = await browser.post(`${page}/status`, { status: 'draft' }, page);
    expect(refused.statusCode).toBe(400);
    expect(refused.body).toContain('cannot become draft');
    expect((await browser.get('/dashboard/campaigns?status=paused')).body).toContain('Spring');
    expect((await browser.get('/dashboard/campaigns?status=draft')).body).toContain(
      'No campaigns have this status',
    );
  });
});

test("another tenant's data can be neither read nor changed", async () => {
  const { auth } = await made.addTenant();
  const company = await aCompany(auth);
  const campaign = await create('/v1/campaigns', { name: 'Theirs' }, auth);
  for (const path of [`companies/${company}`, 'companies/acme.example', `campaigns/${campaign}`]) {
    expect([path, (await browser.get(`/dashboard/${path}`)).statusCode]).toEqual([path, 404]);
  }
  for (const path of [`campaigns/${campaign}/status`]) {
    const answer = await browser.post(
      `/dashboard/${path}`,
      { status: 'active', name: 'Mine', action: 'accept' },
      '/dashboard',
    );
    expect([path, answer.statusCode]).toEqual([path, 404]);
  }
  for (const path of ['companies', 'campaigns']) {
    const { body } = await browser.get(`/dashboard/${path}`);
    expect(body).not.toMatch(/Theirs|acme\.example/);
  }
});

test('all text is escaped on every screen', async () => {
  const company = await aCompany(made.auth, HOSTILE);
  const steps = [{ step: 1, name: HOSTILE }];
  const campaign = await create('/v1/campaigns', { name: HOSTILE, description: HOSTILE, steps });
  for (const path of ['companies', `companies/${company}`, 'campaigns', `campaigns/${campaign}`]) {
    isHarmless((await browser.get(`/dashboard/${path}`)).body);
  }
});
