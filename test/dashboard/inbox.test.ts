import { afterEach, beforeEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, memberSignedIn, signedIn, type TestBrowser } from './browser-session.ts';

const DAY = 86_400_000;
const HOT = aPost().text;
const COLD = 'Nice weather on site today, lads.';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

let posted = 0;
async function post(text: string, overrides: Record<string, unknown> = {}): Promise<string> {
  made.clock.advance(1_000);
  const platform = { name: 'reddit', post_url: `https://www.reddit.com/r/SaaS/comments/${++posted}/x/` };
  const payload = aPost({ text, platform, external_id: `x${posted}`, ...overrides });
  const answer = await made.app.inject({
    ...{ method: 'POST', url: '/v1/signals', headers: made.auth, payload },
  });
  return answer.json().data.signals[0].signal_id;
}

/** The IDs of the rows of the list at a URL. */
async function rows(filters = ''): Promise<string[]> {
  const { body, statusCode } = await browser.get(`/dashboard/signals${filters}`);
  expect(statusCode).toBe(200);
  return [...body.matchAll(/data-key="(sig_\w+)"/g)].map(([, id]) => String(id));
}

function act(fields: Record<string, string | string[]>) {
  return browser.post('/dashboard/signals/triage', fields, '/dashboard/signals?state=all');
}

async function tabs(): Promise<Record<string, string>> {
  const { body } = await browser.get('/dashboard/signals');
  const found = body.matchAll(/">([^<]+) <span class="count">([^<]+)</g);
  return Object.fromEntries([...found].map(([, label, count]) => [label, count]));
}

test('a row shows what the post is, where, why, and its score; cold ones are hidden unless requested', async () => {
  const id = await post(`Which CRM for a small agency?\n\n${HOT}`, {
    prospect: { name: 'Jane Doe', title: 'CTO' },
    company: { name: 'Acme' },
  });
  const cold = await post(COLD);
  expect(await rows()).toEqual([id]);
  expect(await rows('?state=all')).toEqual([cold, id]);
  expect(await rows('?classification=cold')).toEqual([cold]);
  const { body } = await browser.get('/dashboard/signals');
  expect(body).toContain(`<a href="/dashboard/signals/${id}" data-open>Which CRM for a small agency?</a>`);
  expect(body).toMatch(/r\/SaaS on Reddit · Jane Doe, CTO at Acme · <time/);
  expect(body).toMatch(/<p class="row-why">Looking for a new CRM this month/);
  expect(body).toMatch(/class="badge hot">hot · \d+</);
});

test('judged, added and snoozed signals leave the inbox, also in bulk, and the list keeps its filters', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift(await post(`${HOT} Number ${i}.`));
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = ids;
  const judged = await act({ id: [first, second], act: 'not_relevant', back: 'sort=-icp_score' });
  expect(judged.headers.location).toBe('/dashboard/signals?sort=-icp_score&done=thanks');
  expect(await rows()).toEqual([third, fourth, fifth]);
  await act({ one: `relevant ${third}` });
  await act({ id: fourth, act: 'lead' });
  expect(await rows()).toEqual([fifth]);
  expect(await rows('?state=done')).toEqual([first, second, third, fourth]);
  expect((await made.store.getFeedback(made.tenant.id, second))?.relevant).toBe(false);
  expect(await made.store.getFeedback(made.tenant.id, third)).toMatchObject({ relevant: true });
  expect((await browser.get('/dashboard/signals?state=done')).body).toContain('in the pipeline');
  await act({ id: fifth, act: 'snooze', until: '3' });
  expect(await rows()).toEqual([]);
  expect((await browser.get('/dashboard/signals')).body).toContain('Inbox zero');
  expect(await tabs()).toMatchObject({ Inbox: '0', Snoozed: '1', Done: '4', All: '5' });
  made.clock.advance(3 * DAY + 8 * 3_600_000);
  expect(await rows()).toEqual([fifth]);
});

test('a new post by someone in the pipeline is in the inbox until it is judged or added, too', async () => {
  const author = { prospect: { name: 'Jane Doe', email: 'jane@acme.example' } };
  await act({ id: await post(HOT, author), act: 'lead' });
  expect(await rows()).toEqual([]);
  const second = await post(
    'We need accounting software for 12 people this month. What do you recommend?',
    author,
  );
  const third = await post('Looking for an agency to build our new website by March, budget 20k.', author);
  expect(await rows()).toEqual([third, second]);
  expect((await browser.get('/dashboard/signals')).body).toContain('in the pipeline');
  await act({ id: second, act: 'lead' });
  expect(await rows()).toEqual([third]);
  await act({ one: `not_relevant ${third}` });
  expect(await rows()).toEqual([]);
});

test("a snooze ends on the morning of its day in the tenant's time zone, and can be undone", async () => {
  const settings = { method: 'PATCH', url: '/v1/settings', headers: made.auth } as const;
  await made.app.inject({ ...settings, payload: { timezone: 'Asia/Tokyo' } });
  const id = await post(HOT);
  const day = new Date(made.clock.now() + 5 * DAY).toISOString().slice(0, 10);
  await act({ id, act: 'snooze', until: 'day', until_day: day });
  const [triaged] = await made.store.listTriage(made.tenant.id, [id]);
  expect(new Date(triaged?.snoozedUntil ?? 0).toISOString()).toBe(
    new Date(Date.parse(`${day}T08:00:00+09:00`)).toISOString(),
  );
  expect(await rows('?state=snoozed')).toEqual([id]);
  await act({ id, act: 'wake' });
  expect(await rows()).toEqual([id]);
  for (const wrong of ['', '2001-01-01', 'soon']) {
    const refused = await act({ id, act: 'snooze', until: 'day', until_day: wrong });
    expect([refused.statusCode, refused.body.includes('role="alert"')]).toEqual([400, true]);
  }
});

test('a signal can only be assigned to team members, and each has their own list', async () => {
  const id = await post(HOT);
  await post(`${HOT} Another.`);
  await act({ id, act: 'assign', assignee: 'owner@example.com' });
  expect(await rows('?assignee=me')).toEqual([id]);
  expect(await rows('?assignee=owner%40example.com&state=all')).toEqual([id]);
  expect(await rows()).toHaveLength(2);
  expect((await browser.get('/dashboard/signals')).body).toContain('yours');
  const refused = await act({ id, act: 'assign', assignee: 'x@elsewhere.example' });
  expect(refused.body).toContain('not the address of a member');
  await act({ id, act: 'assign', assignee: '' });
  expect(await rows('?assignee=me')).toEqual([]);
});

test('filters can be saved as views, which show their counts', async () => {
  await post(HOT);
  await post(`${HOT} Again.`, { platform: { name: 'forum' } });
  const page = '/dashboard/signals?platform=forum&signal=sig_x&cursor=';
  const saved = await browser.post(
    '/dashboard/signals/views',
    { name: ' Forum  posts ', query: 'platform=forum&signal=x' },
    page,
  );
  expect(saved.headers.location).toBe('/dashboard/signals?platform=forum&done=saved');
  expect(await tabs()).toMatchObject({ 'Forum posts': '1', Inbox: '2' });
  const { body } = await browser.get('/dashboard/signals?platform=forum');
  expect(body).toMatch(/href="\/dashboard\/signals\?platform=forum" aria-current="page">Forum posts/);
  const [, address = ''] = /action="(\/dashboard\/signals\/views\/viw_\w+\/delete)"/.exec(body) ?? [];
  await browser.send(address, { _csrf: csrfOf(body) });
  expect(Object.keys(await tabs())).not.toContain('Forum posts');
  const nameless = await browser.post('/dashboard/signals/views', { name: ' ', query: '' }, page);
  expect(nameless.body).toContain('Name the view');
});

test('a search lists the post titled with these words first, whatever its age, class and state', async () => {
  const wanted = await post(`Customer Service Software?\n\n${HOT}`);
  await act({ one: `relevant ${wanted}` });
  const beside = await post(`Our customer service software stack\n\n${COLD}`);
  const apart = await post(
    `Hiring in Ireland\n\nSoftware people with customer focus for our service. ${HOT}`,
  );
  expect(await rows('?q=customer+service+software')).toEqual([wanted, beside, apart]);
  expect(await rows('?q=customer+service+software&sort=-timestamp')).toEqual([apart, beside, wanted]);
});

test('signals can be judged on Today, and irrelevant or snoozed ones disappear from it', async () => {
  const first = await post(`${HOT} We decide by Friday.`);
  const second = await post(`${HOT} We decide this week.`);
  const { body } = await browser.get('/dashboard');
  expect(body).toContain(`value="not_relevant ${first}"`);
  const sent = await browser.send('/dashboard/signals/triage', {
    ...{ _csrf: csrfOf(body), back: 'today', one: `not_relevant ${first}` },
  });
  expect(sent.headers.location).toBe('/dashboard?done=thanks');
  expect((await browser.get('/dashboard')).body).not.toContain(first);
  await act({ id: second, act: 'snooze', until: '1' });
  expect((await browser.get('/dashboard')).body).not.toContain(second);
});

test("a reply is drafted from the post, the offer and the team's template, whose placeholders are validated", async () => {
  const id = await post(`Need a CRM?\n\n${HOT}`, { prospect: { name: 'Jane Doe' } });
  const page = '/dashboard/settings/reply';
  expect((await browser.get(`/dashboard/signals/${id}`)).body).toMatch(
    />Hi Jane,\s+I saw that you are looking for a/,
  );
  await browser.post(page, { template: 'Dear {{first_name}} of {{community}}: {{headline}}' }, page);
  expect((await browser.get(`/dashboard/signals/${id}`)).body).toContain(
    '>Dear Jane of r/SaaS on Reddit: Need a CRM?</textarea>',
  );
  for (const template of ['{{password}}', 'Hi {{first_name', 'x'.repeat(4_001)]) {
    const refused = await browser.post(page, { template }, page);
    expect([refused.statusCode, refused.body.includes('role="alert"')]).toEqual([400, true]);
  }
  await browser.post(page, { template: '' }, page);
  expect((await browser.get(page)).body).toContain('Hi {{first_name}},');
});

test('a reader can view but not change anything, and the list redirects only within itself', async () => {
  const id = await post(HOT);
  const reader = await memberSignedIn(made, { email: 'reader@acme.example', role: 'reader' });
  const page = await reader.get('/dashboard/signals');
  expect(page.body).toContain(id);
  expect(page.body).not.toContain('name="act"');
  const refused = await reader.post('/dashboard/signals/triage', { id, act: 'relevant' }, '/dashboard');
  expect(refused.statusCode).toBe(403);
  const back = await act({ one: `relevant ${id}`, back: '//evil.example/?a=1' });
  expect(back.headers.location).toMatch(/^\/dashboard\/signals\?/);
});
