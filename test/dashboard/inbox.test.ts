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

/** Ids of the rows of a list, as an address shows it. */
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

test('a row says what the post is, where, why, and how good; cold ones are hidden until they are asked for', async () => {
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

test('what was judged, added or snoozed leaves the inbox, many at once, and the list keeps its filters', async () => {
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

test('a new post by someone in the pipeline is in the inbox, until it is judged or added as well', async () => {
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

test('a snooze ends on the morning of its day in the zone of the tenant, and may be taken back', async () => {
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

test('a signal is assigned to members of the team alone, and each has a list of their own', async () => {
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

test('filters are kept as views, which count what they hold', async () => {
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

test('a search brings the post with these words as its title first, whatever its age, class and state', async () => {
  const wanted = await post(`Customer Service Software?\n\n${HOT}`);
  await act({ one: `relevant ${wanted}` });
  const beside = await post(`Our customer service software stack\n\n${COLD}`);
  const apart = await post(
    `Hiring in Ireland\n\nSoftware people with customer focus for our service. ${HOT}`,
  );
  expect(await rows('?q=customer+service+software')).toEqual([wanted, beside, apart]);
  expect(await rows('?q=customer+service+software&sort=-timestamp')).toEqual([apart, beside, wanted]);
});

test('Today takes a thumb, and what is not relevant or snoozed is gone from it', async () => {
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

test('a reply is drafted from the post, the offer and the template of the team, whose placeholders are checked', async () => {
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

test('a reader looks and changes nothing; nobody leads the list elsewhere', async () => {
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
