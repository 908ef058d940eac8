import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { deliverToNobody } from '../support/fake-receiver.ts';
import { csrfOf, memberSignedIn, signedIn, TestBrowser } from './browser-session.ts';
import { HOSTILE, isHarmless, postSignal } from './hostile.ts';

/** IDs of existing resources, by the collection named in a screen's URL. */
type Ids = Record<string, string>;

let made: TestApp;
let browser: TestBrowser;
let ids: Ids;
let screens: string[];
beforeAll(async () => {
  made = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  browser = await signedIn(made, made.tenant.id);
  ids = await fillByStranger();
  screens = made.routes
    .filter(
      ({ method, url }) => method === 'GET' && /^\/dashboard(\/|$)/.test(url) && !url.includes('/assets/'),
    )
    .map(({ url }) => url);
});
afterAll(() => made.app.close());

async function create(path: string, payload: object): Promise<string> {
  const answer = await made.app.inject({ method: 'POST', url: path, headers: made.auth, payload });
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.body}`);
  return answer.json().data.id;
}

/** Everything strangers and their posts can write into an account, in every text field. */
async function fillByStranger(): Promise<Ids> {
  const url = `https://127.0.0.1:8443/?${encodeURIComponent(HOSTILE)}`;
  const hook = await made.app.inject({
    method: 'POST',
    url: '/v1/webhooks',
    headers: made.auth,
    payload: {
      url,
      label: HOSTILE.slice(0, 100),
      event_types: ['signal.detected', 'pipeline.stage_changed'],
    },
  });
  const { id: webhook, secret } = hook.json().data;
  const person = { name: HOSTILE, title: HOSTILE, email: 'dana@evil.example' };
  const company = { name: HOSTILE, domain: 'evil.example', industry: HOSTILE, location: HOSTILE };
  const signal = await postSignal(made, {
    platform: { name: 'reddit', post_url: `https://evil.example/${encodeURIComponent(HOSTILE)}` },
    text: `We are looking for a new CRM, budget approved. ${HOSTILE}`,
    prospect: person,
    company,
  });
  const said = { relevant: false, reason: HOSTILE };
  await made.app.inject({
    ...{ method: 'POST', url: `/v1/signals/${signal}/feedback`, headers: made.auth, payload: said },
  });
  const lead = await create('/v1/leads', {
    ...{ ...person, company, source: HOSTILE, signal_ids: [signal] },
    ...{ tags: [HOSTILE.slice(0, 50)], custom_fields: { note: HOSTILE } },
  });
  const reply = { reply: 'failure', replyText: HOSTILE } as const;
  await deliverToNobody(made, { endpointId: webhook, secret, ...reply });
  const [delivery] = (await made.app.inject({ url: '/v1/deliveries', headers: made.auth })).json().data;
  const campaign = { name: HOSTILE, description: HOSTILE, steps: [{ step: 1, name: HOSTILE }] };
  const { data: companies } = (await made.app.inject({ url: '/v1/companies', headers: made.auth })).json();
  await memberSignedIn(made, { email: 'member@example.com', role: 'member' });
  const [owner, member] = await made.store.listMembers(made.tenant.id);
  const [session] = await made.store.listSessions(owner?.id ?? '', made.clock.now());
  const message = { kind: 'message', subject: HOSTILE, text: HOSTILE } as const;
  await made.store.addMail({
    id: 'mal_1',
    tenantId: made.tenant.id,
    facts: message,
    createdAt: made.clock.now(),
  });
  await made.store.saveSignalView({
    ...{ id: 'viw_1', tenantId: made.tenant.id, name: HOSTILE.slice(0, 40), query: `q=${HOSTILE}` },
    createdAt: made.clock.now(),
  });
  const profile = await create('/v1/icps', {
    ...{ name: HOSTILE.slice(0, 80), description: HOSTILE, phrases: ['new crm'] },
  });
  return {
    ...{
      signals: signal,
      views: 'viw_1',
      leads: lead,
      pipeline: lead,
      webhooks: webhook,
      deliveries: delivery.id,
      companies: companies[0].id,
    },
    'webhook-logs': delivery.id,
    campaigns: await create('/v1/campaigns', campaign),
    profiles: profile,
    sources: await create('/v1/sources', { kind: 'hackernews', name: HOSTILE.slice(0, 80), query: 'crm' }),
    'api-keys': await create('/v1/keys', { name: HOSTILE.slice(0, 80), preset: 'read' }),
    ...{ team: member?.id ?? '', sessions: session?.id ?? '', suggestions: 'sug_none', outbox: 'mal_1' },
  };
}

/** The URL with the IDs from {@link ids} filled in. */
function addressOf(url: string): string {
  return url.replace(/([\w-]+)\/:\w+/g, (_all, collection: string) => {
    const id = ids[collection];
    if (id === undefined || id === '') throw new Error(`${url}: make a thing of its kind above`);
    return `${collection}/${id}`;
  });
}

test('text by strangers is escaped on every screen, and every screen has the strict CSP', async () => {
  let shown = 0;
  for (const url of screens) {
    const { statusCode, body, headers } = await browser.get(addressOf(url));
    expect([url, statusCode < 400]).toEqual([url, true]);
    if (!/\.(?:csv|ndjson)$/.test(url)) {
      expect([url, /<img src=x|<script>alert|"'><script|<\/textarea><\/title>|\b49`/.exec(body)]).toEqual([
        url,
        null,
      ]);
      // No text by a stranger becomes a URL that runs a script.
      expect([url, /(?:href|src|action)="\s*(?:javascript|data):/i.exec(body)]).toEqual([url, null]);
    } else
      expect([url, headers['content-disposition']]).toEqual([url, expect.stringContaining('attachment')]);
    if (body.includes('&lt;img src=x onerror=alert(1)&gt;')) shown++;
    expect([url, headers['content-security-policy']]).toEqual([
      url,
      "default-src 'none'; img-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ]);
    expect(headers).toMatchObject({ 'referrer-policy': 'same-origin', 'x-frame-options': 'DENY' });
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
  }
  expect(shown).toBeGreaterThan(12);
});

test('text by strangers is also escaped in the responses to forms', async () => {
  const hooks = '/dashboard/settings/integrations/webhooks';
  const forms: [path: string, fields: Record<string, string>, page: string][] = [
    [
      `/dashboard/profiles/${ids.profiles}`,
      { act: 'preview', name: 'x' },
      `/dashboard/profiles/${ids.profiles}`,
    ],
    [`${hooks}/new`, { act: 'preview', format: 'standard', url: 'https://127.0.0.1:8443/' }, `${hooks}/new`],
    [`${hooks}/new`, { act: 'preview', format: 'slack', url: 'https://127.0.0.1:8443/' }, `${hooks}/new`],
    [`${hooks}/new`, { url: HOSTILE, label: HOSTILE }, `${hooks}/new`],
    ['/dashboard/sources/new', { act: 'guess', place: HOSTILE }, '/dashboard/sources/new'],
    ['/dashboard/sources/new', { kind: 'rss', name: HOSTILE, url: HOSTILE }, '/dashboard/sources/new'],
    ['/dashboard/start', { offer: HOSTILE, domain: HOSTILE }, '/dashboard/profiles/new'],
    ['/dashboard/settings/team', { email: HOSTILE, role: 'reader' }, '/dashboard/settings/team'],
  ];
  for (const [path, fields, page] of forms) isHarmless((await browser.post(path, fields, page)).body);
  const stranger = new TestBrowser(made.app);
  const refused = await stranger.post('/dashboard/login', { email: HOSTILE, password: 'x', next: HOSTILE });
  isHarmless(refused.body);
});

test("another tenant's IDs in a form or URL match nothing, and nothing of that tenant changes", async () => {
  const { tenant, auth } = await made.addTenant();
  const stranger = await signedIn(made, tenant.id);
  const _csrf = csrfOf((await stranger.get('/dashboard')).body);
  const send = async (path: string, fields: Record<string, string>) => {
    const { statusCode, headers } = await stranger.send(`/dashboard${path}`, { ...fields, _csrf });
    return [statusCode, headers.location ?? null];
  };
  const deliveries = async () => (await made.app.inject({ url: '/v1/deliveries', headers: made.auth })).body;
  const before = await deliveries();
  const { webhooks = '', profiles = '', 'webhook-logs': delivery = '' } = ids;
  expect(await send('/webhook-logs/replay', { id: delivery })).toEqual([
    303,
    expect.stringContaining('replayed-none'),
  ]);
  const all = { webhook_id: webhooks, status: 'dead', from: '2020-01-01T00:00' };
  expect(await send('/webhook-logs/replay-all', all)).toEqual([404, null]);
  for (const made of [
    await send('/settings/integrations/webhooks/new', {
      ...{ url: 'https://127.0.0.1:8443/', icp_profile_ids: profiles },
    }),
    await send('/sources/new', { kind: 'hackernews', name: 'x', query: 'crm', icp_profile_ids: profiles }),
  ]) {
    expect(made).toEqual([400, null]);
  }
  for (const path of [
    `/webhook-logs?webhook_id=${webhooks}`,
    `/dead-letters?webhook_id=${webhooks}`,
    `/signals?icp=${profiles}`,
    '/leads?email=dana@evil.example',
    '/companies?q=evil',
    '/find?q=evil',
  ]) {
    const { statusCode, body } = await stranger.get(`/dashboard${path}`);
    expect([path, statusCode === 200 || statusCode === 404]).toEqual([path, true]);
    expect([path, /dlv_|sig_|led_|cmp_|&lt;img/.exec(body)]).toEqual([path, null]);
  }
  expect(await deliveries()).toBe(before);
  for (const list of ['webhooks', 'sources']) {
    expect((await made.app.inject({ url: `/v1/${list}`, headers: auth })).json().data).toEqual([]);
  }
});

test("another tenant's ID is 404 on every screen and for every change, and nothing of that tenant is shown", async () => {
  const { tenant } = await made.addTenant();
  const stranger = await signedIn(made, tenant.id);
  const token = csrfOf((await stranger.get('/dashboard')).body);
  const named = made.routes.filter(
    ({ method, url }) => url.startsWith('/dashboard/') && url.includes(':') && method !== 'HEAD',
  );
  expect(named.length).toBeGreaterThan(30);
  for (const { method, url } of named) {
    const address = addressOf(url);
    const answer =
      method === 'GET'
        ? await stranger.get(address)
        : await stranger.send(address, { _csrf: token, action: 'dismiss' });
    expect([method, url, answer.statusCode]).toEqual([method, url, 404]);
    expect(answer.body).not.toContain('img src=x');
  }
  for (const url of screens.filter((each) => !each.includes(':'))) {
    const { body } = await stranger.get(url);
    const leaked = [HOSTILE.slice(0, 6), 'evil.example', ...Object.values(ids)].filter((text) =>
      body.includes(text),
    );
    expect([url, leaked]).toEqual([url, []]);
  }
});
