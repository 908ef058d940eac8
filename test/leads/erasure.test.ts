import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { continueErasures, eraseLead } from '../../src/leads/erase-lead.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { explanationSchema, signalSchema } from '../../src/model/signal.ts';
import type { Store } from '../../src/store/store.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

/** Texts that only the erased person adds to the database, in lower case. */
const PERSONAL = [
  'zebediah',
  'quirke',
  'zq-profile',
  'grandvizier',
  'xylophonic',
  'post-secret',
  'gossip',
  'pseudonymous',
];

const PERSON = {
  name: 'Zebediah Quirke',
  title: 'Grandvizier of Operations',
  email: 'Zebediah.Quirke@acme.com',
  linkedin_url: 'https://www.linkedin.com/in/zq-profile',
};
const COMPANY = { name: 'Acme', domain: 'acme.com', industry: 'HVAC' };

let t: TestApp;
let file: string;
beforeEach(async () => {
  file = join(tempFolder(), 'signalpost.db');
  t = await buildTestApp({ file, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

async function call(
  method: 'POST' | 'PUT' | 'GET' | 'DELETE' | 'PATCH',
  url: string,
  payload?: object,
  headers = {},
) {
  const answer = await t.app.inject({
    method,
    url,
    headers: { ...t.auth, ...headers },
    ...(payload && { payload }),
  });
  expect(answer.statusCode, answer.body).toBeLessThan(300);
  return answer.body === '' ? null : answer.json().data;
}

function personalPost(overrides: object = {}) {
  return aPost({
    platform: {
      name: 'forum',
      post_url: 'https://forum.example.com/post-secret',
      posted_at: '2026-01-01T00:00:00Z',
    },
    // Longer than a page of the file, so that it occupies separate pages.
    text: `We are looking for a xylophonic CRM, any recommendations? Need it now. ${'More gossip. '.repeat(1_500)}`,
    external_id: 'post-secret-1',
    prospect: PERSON,
    company: COMPANY,
    ...overrides,
  });
}

/** Where text of the person is found: in every value of every table, including those of the full-text index. */
function traces(): string[] {
  const db = new Database(file, { readonly: true });
  const tables = db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all();
  const found = tables.flatMap(({ name }) => {
    if (name === 'signal_search') return []; // its content is in its shadow tables
    const rows = db.prepare<[], Record<string, unknown>>(`SELECT * FROM "${name}"`).all();
    return rows.flatMap((row) =>
      Object.entries(row).flatMap(([column, value]) => named(`${name}.${column}`, value)),
    );
  });
  db.close();
  return found;
}

function named(place: string, value: unknown): string[] {
  const text = (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)).toLowerCase();
  return PERSONAL.filter((needle) => text.includes(needle)).map((needle) => `${place}: ${needle}`);
}

/** An endpoint for all events, a signal with a hot event, a lead with history, a deal, and stored responses. */
async function makePerson() {
  await call('POST', '/v1/webhooks', {
    url: 'http://127.0.0.1:9/hook',
    event_types: [
      'signal.detected',
      'signal.new_hot',
      'lead.created',
      'lead.enriched',
      'pipeline.stage_changed',
      'deal.changed',
    ],
  });
  const { signals } = await call('POST', '/v1/signals', personalPost(), { 'idempotency-key': 'k1' });
  const lead = await call(
    'POST',
    '/v1/leads',
    {
      signal_ids: [signals[0].signal_id],
      tags: ['gossip'],
      custom_fields: { nick: 'Zebediah' },
      source: 'Quirke list',
    },
    { 'idempotency-key': 'k2' },
  );
  await call('PUT', `/v1/pipeline/${lead.id}/stage`, { stage: 'lost', reason: 'gossip about Zebediah' });
  await call('PUT', `/v1/pipeline/${lead.id}/deal`, { amount_minor: 100, currency: 'USD' });
  return { lead, signalId: signals[0].signal_id as string };
}

test('before the erasure, the person is all over the database (otherwise the test below could not fail)', async () => {
  await makePerson();
  const places = new Set(traces().map((trace) => trace.split('.')[0]));
  expect([...places].sort()).toEqual(
    expect.arrayContaining([
      'delivery_bodies',
      'events',
      'idempotency_keys',
      'lead_identities',
      'lead_tags',
      'leads',
      'signal_people',
      'signal_search_data',
      'signals',
      'stage_moves',
    ]),
  );
});

test('an erased person is in no value of any table, including the full-text index, and not in the file', async () => {
  const { lead } = await makePerson();
  await call('DELETE', `/v1/leads/${lead.id}`);
  expect(traces()).toEqual([]);

  const db = new Database(file);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  const bytes = readFileSync(file).toString('latin1').toLowerCase();
  expect(PERSONAL.filter((needle) => bytes.includes(needle))).toEqual([]);
});

test('an erasure interrupted by the end of its process is completed by the next one', async () => {
  const { lead } = await makePerson();
  const second = { ...personalPost({ external_id: 'post-secret-2' }), platform: { name: 'second' } };
  await call('POST', '/v1/signals', second);
  let pieces = 0;
  const dying: Store = {
    ...t.store,
    async continueErasure(erasure) {
      if (pieces++ === 1) throw new Error('the process ends here');
      return t.store.continueErasure(erasure);
    },
  };
  const changed: string[] = [];
  const deps = { endpointChanged: (id: string) => void changed.push(id) };
  await expect(eraseLead({ store: dying, clock: t.clock, ...deps }, t.tenant.id, lead.id)).rejects.toThrow(
    'ends here',
  );
  expect(traces()).not.toEqual([]);
  expect((await t.app.inject({ url: `/v1/leads/${lead.id}`, headers: t.auth })).statusCode).toBe(404);

  await continueErasures({ store: t.store, ...deps }, () => false);
  expect(traces()).toEqual([]);
  expect(await t.store.listDueLanes()).toEqual([]);
  expect(await t.store.listErasures(10)).toEqual([]);
});

test('an erasure that takes longer than 90 s is answered, and continued by the job', async () => {
  await call('POST', '/v1/signals', personalPost());
  const { id } = await call('POST', '/v1/leads', PERSON);
  let now = 0;
  const clock = { ...t.clock, monotonic: () => now };
  let pieces = 0;
  const store: Store = {
    ...t.store,
    async continueErasure(erasure) {
      if (++pieces > 3) throw new Error('still not answered');
      now += 90_000;
      return { ...(await t.store.continueErasure(erasure)), isDone: false };
    },
  };
  await eraseLead({ store, clock }, t.tenant.id, id);
  expect(pieces).toBe(1);
  await continueErasures(t, () => false);
  expect(traces()).toEqual([]);
});

test('the signal keeps what was counted: company, score and its points', async () => {
  const { lead, signalId } = await makePerson();
  const before = await call('GET', `/v1/signals/${signalId}`);
  await call('DELETE', `/v1/leads/${lead.id}`);
  const { text, explanation, ...wire } = await call('GET', `/v1/signals/${signalId}`);
  expect(signalSchema.parse(wire)).toEqual(wire);
  expect(text).toBe('');
  expect(wire).toEqual({
    ...before,
    text: undefined,
    explanation: undefined,
    prospect: { name: '', title: '', email: '', linkedin_url: '' },
    platform: { name: 'forum', post_url: '', posted_at: '' },
    excerpt: '',
    external_id: null,
    lead_id: null,
  });
  expect(explanationSchema.parse(explanation)).toMatchObject({ score: before.icp_score });
  const points = [...explanation.factors, ...explanation.negatives].map(
    ({ points }: { points: number }) => points,
  );
  expect(points.reduce((sum, one) => sum + one, 0)).toBe(before.icp_score);
  const list = await t.app.inject({ url: '/v1/signals?q=xylophonic', headers: t.auth });
  expect(list.json().data).toEqual([]);
});

test('nothing about the person is sent any more, and the dispatcher is notified', async () => {
  const { lead } = await makePerson();
  const [lane] = await t.store.listDueLanes();
  expect(lane).toBeDefined();
  t.changed.length = 0;
  await call('DELETE', `/v1/leads/${lead.id}`);
  expect(await t.store.listDueLanes()).toEqual([]);
  expect([...new Set(t.changed)]).toEqual([lane?.endpointId]);
});

test('stored responses of receivers are cleared, including those to attempts still in flight', async () => {
  const { lead } = await makePerson();
  const [lane] = await t.store.listDueLanes();
  const endpointId = lane?.endpointId ?? '';
  const [claim] = await t.store.claimDeliveries({
    lanes: [{ endpointId, limit: 10, knownVersion: -1, held: [] }],
    now: t.clock.now(),
    leaseUntil: t.clock.now() + 60_000,
    leaseToken: 'lease',
  });
  const outcome = (index: number) => ({
    deliveryId: claim?.deliveries[index]?.id ?? '',
    endpointId,
    attempt: {
      id: `att_${index}`,
      attempt: 1,
      startedAt: t.clock.now(),
      durationMs: 1,
      sent: null,
      response: { status: 200, headers: { 'x-echo': 'Zebediah' }, body: 'Thanks for Zebediah Quirke' },
      error: null,
      timings: {},
    },
    next: { status: 'delivered' as const },
    streak: 'reset' as const,
    at: t.clock.now(),
    gone: false,
    probe: false,
  });
  await t.store.recordOutcome(outcome(0));
  await call('DELETE', `/v1/leads/${lead.id}`);
  expect(await t.store.recordOutcome(outcome(1))).toBe(false);
  expect(traces()).toEqual([]);
  const kept = await t.store.getDelivery(t.tenant.id, outcome(0).deliveryId);
  expect(kept).toMatchObject({
    status: 'delivered',
    body: null,
    attempts: [{ response: { status: 200, headers: {}, body: '' } }],
  });
});

test("the person's other posts are erased, too, found by email address or by a profile named in one of them", async () => {
  const { lead } = await makePerson();
  const later = [
    personalPost({
      external_id: 'post-secret-2',
      platform: { name: 'a' },
      prospect: { email: PERSON.email },
    }),
    personalPost({
      external_id: 'post-secret-3',
      platform: { name: 'b' },
      prospect: { email: PERSON.email, linkedin_url: 'https://linkedin.com/in/pseudonymous' },
    }),
    personalPost({
      external_id: 'post-secret-4',
      platform: { name: 'c' },
      prospect: { linkedin_url: 'https://linkedin.com/in/pseudonymous' },
    }),
  ];
  await call('POST', '/v1/signals/batch', { signals: later });
  await call('DELETE', `/v1/leads/${lead.id}`);
  expect(traces()).toEqual([]);
});

test('each address and profile of a person is looked up once, and few of them are searched for in other data', async () => {
  // Each post shares an address with the one before it, or a profile.
  const posts = Array.from({ length: 60 }, (_, n) => ({
    ...personalPost({ external_id: `chain-${n}`, text: `We need a xylophonic CRM, number ${n * 7_919}` }),
    prospect: {
      name: 'Zebediah Quirke',
      email: `zq${Math.floor((n + 1) / 2)}@acme.com`,
      linkedin_url: `https://www.linkedin.com/in/zq-${Math.floor(n / 2)}`,
    },
  }));
  await call('POST', '/v1/signals/batch', { signals: posts });
  const { id } = await call('POST', '/v1/leads', { email: 'zq0@acme.com' });
  const asked: string[] = [];
  let erased: Parameters<Store['eraseLead']>[0] | null = null;
  const store: Store = {
    ...t.store,
    pageSignalsOfPerson(tenantId, key, page) {
      asked.push(key);
      return t.store.pageSignalsOfPerson(tenantId, key, page);
    },
    eraseLead(erasure) {
      erased = erasure;
      return t.store.eraseLead(erasure);
    },
  };
  await eraseLead({ store, clock: t.clock }, t.tenant.id, id);
  expect(asked.length).toBeGreaterThan(60);
  expect(asked.length).toBe(new Set(asked).size);
  expect(erased).toMatchObject({ keys: { length: 61 }, signals: [], mentions: { texts: { length: 20 } } });
  expect(
    (await call('GET', '/v1/signals')).every(
      ({ prospect }: { prospect: { name: string } }) => prospect.name === '',
    ),
  ).toBe(true);
});

test('a person who keeps posting is erased: a repeated search continues where the last one ended', async () => {
  const post = (n: number) =>
    personalPost({ external_id: `often-${n}`, text: `We need a xylophonic CRM, number ${n * 7_919}` });
  const signals = Array.from({ length: 300 }, (_, n) => post(n));
  await call('POST', '/v1/signals/batch', { signals });
  const { id } = await call('POST', '/v1/leads', PERSON);
  let pages = 0;
  let tries = 0;
  const store: Store = {
    ...t.store,
    pageSignalsOfLead(leadId, page) {
      pages++;
      return t.store.pageSignalsOfLead(leadId, page);
    },
    pageSignalsOfPerson(tenantId, key, page) {
      pages++;
      return t.store.pageSignalsOfPerson(tenantId, key, page);
    },
    async eraseLead(erasure) {
      if (++tries <= 5) await call('POST', '/v1/signals', post(tries + 1_000));
      return t.store.eraseLead(erasure);
    },
  };
  await eraseLead({ store, clock: t.clock }, t.tenant.id, id);
  expect(tries).toBe(6);
  // The lead, the address and the profile: seven pages each, and a last page or two with each further try.
  expect(pages).toBeLessThanOrEqual(3 * 7 + 5 * 3 * 2);
  expect(traces()).toEqual([]);
});

test("other people's posts, leads and events are unchanged", async () => {
  const { lead } = await makePerson();
  const other = await call('POST', '/v1/leads', {
    email: 'other@acme.com',
    signal: aPost({ text: 'We need a new CRM, any recommendations?', prospect: { email: 'other@acme.com' } }),
  });
  const [theirs] = other.signals;
  const attached = await call(
    'POST',
    '/v1/signals',
    aPost({ platform: { name: 'x' }, prospect: { email: 'third@acme.com' } }),
  );
  const third = attached.signals[0];
  await call('POST', '/v1/leads', { email: PERSON.email, signal_ids: [third.signal_id] });
  await call('DELETE', `/v1/leads/${lead.id}`);

  expect(await call('GET', `/v1/leads/${other.id}`)).toEqual(other);
  expect(await call('GET', `/v1/signals/${theirs.signal_id}`)).toMatchObject({
    lead_id: other.id,
    prospect: { email: 'other@acme.com' },
  });
  const free = await call('GET', `/v1/signals/${third.signal_id}`);
  expect(free).toMatchObject({
    lead_id: null,
    prospect: { email: 'third@acme.com' },
    excerpt: third.excerpt,
  });
});

test("a mention in somebody else's post is redacted, and the post's evidence still matches", async () => {
  const { lead } = await makePerson();
  const text =
    'We are looking for a CRM. Ask zebediah.quirke@ACME.com or https://linkedin.com/in/zq-profile/ 😀';
  const post = aPost({ platform: { name: 'y' }, text, prospect: { email: 'third@acme.com' } });
  const [signal] = (await call('POST', '/v1/signals', post)).signals;
  await call('DELETE', `/v1/leads/${lead.id}`);
  expect(traces()).toEqual([]);
  const left = await call('GET', `/v1/signals/${signal.signal_id}`);
  expect(left.text).toMatch(/^We are looking for a CRM\. Ask █+ or https:\/\/█+\/ 😀$/);
  expect(Array.from(left.text)).toHaveLength(Array.from(text).length);
  for (const { evidence } of left.explanation.factors) {
    for (const { field, start, end, text: quoted } of evidence) {
      if (field === 'text') expect(Array.from(left.text).slice(start, end).join('')).toBe(quoted);
    }
  }
  expect((await t.store.listDueLanes()).length).toBe(1);
});

test("a mention in the reason of a lead's move is redacted, among hundreds of moves", async () => {
  const { lead } = await makePerson();
  const other = await call('POST', '/v1/leads', { email: 'other@elsewhere.com' });
  for (let i = 0; i < 60; i++) {
    const reason = i === 0 ? `${PERSON.email} asked` : 'asked';
    await call('PUT', `/v1/pipeline/${other.id}/stage`, { stage: i % 2 ? 'qualified' : 'contacted', reason });
  }
  await call('DELETE', `/v1/leads/${lead.id}`);
  expect(traces()).toEqual([]);
});

test('an event that only names the person is cleared with its deliveries', async () => {
  const { lead } = await makePerson();
  const campaign = await call('POST', '/v1/campaigns', { name: 'Spring', status: 'active' });
  const at = new Date(t.clock.now()).toISOString();
  await call('POST', `/v1/campaigns/${campaign.id}/events`, {
    events: [
      { event_id: 'e1', type: 'sent', occurred_at: at, email: PERSON.email },
      { event_id: 'e2', type: 'replied', occurred_at: at, email: PERSON.email, reply_class: 'interested' },
    ],
  });
  await call('DELETE', `/v1/leads/${lead.id}`);
  expect(traces()).toEqual([]);
});

test('the lead is deleted, can be erased only once, and can be created again as a new one', async () => {
  const { lead } = await makePerson();
  await call('DELETE', `/v1/leads/${lead.id}`);
  for (const [method, url] of [
    ['GET', `/v1/leads/${lead.id}`],
    ['DELETE', `/v1/leads/${lead.id}`],
    ['GET', `/v1/pipeline/${lead.id}/history`],
  ] as const) {
    expect((await t.app.inject({ method, url, headers: t.auth })).statusCode).toBe(404);
  }
  const again = await t.app.inject({
    method: 'POST',
    url: '/v1/leads',
    headers: t.auth,
    payload: { email: PERSON.email },
  });
  expect(again.statusCode).toBe(201);
  expect(again.json().data).toMatchObject({ name: 'Zebediah Quirke', signal_count: 0, tags: [] });
});

test("another tenant's lead is 404, and is kept", async () => {
  const { lead } = await makePerson();
  const other = await t.addTenant();
  const answer = await t.app.inject({ method: 'DELETE', url: `/v1/leads/${lead.id}`, headers: other.auth });
  expect(answer.json()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect(await call('GET', `/v1/leads/${lead.id}`)).toMatchObject({ id: lead.id });
});

test('erasures that search at the same time take turns of the event loop', async () => {
  const ids = await Promise.all(
    [1, 2, 3, 4, 5, 6].map(async (i) => (await call('POST', '/v1/leads', { email: `p${i}@acme.com` })).id),
  );
  /** The turn of the event loop in which each page was read, besides the first of each erasure. */
  const turns: number[] = [];
  const store: Store = {
    ...t.store,
    async findSignalsNaming({ after }) {
      const page = Number(after?.[0] ?? 0);
      if (page > 0) turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
      for (const since = performance.now(); performance.now() - since < 6; );
      return { ids: [], last: page < 5 ? [page + 1] : null };
    },
  };
  await Promise.all(ids.map((id) => eraseLead({ store, clock: systemClock }, t.tenant.id, id)));
  expect(turns).toHaveLength(30);
  expect(new Set(turns).size).toBe(30);
});
