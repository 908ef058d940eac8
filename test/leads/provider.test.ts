import { expect, onTestFinished, test } from 'vitest';
import { type Answer, hang, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { buildWebhookApp } from '../support/webhooks.ts';

const DAY_MS = 24 * 3_600_000;
const KNOWN = {
  person: {
    name: 'Somebody Else',
    title: 'Operations Manager',
    linkedin_url: 'https://www.linkedin.com/in/dana',
    confidence: 0.9,
  },
  company: { name: 'Acme', headcount: 120, industry: ['not', 'text'], location: 'Denver, US' },
};
const answering = (body: object): Answer =>
  status(200, { 'content-type': 'application/json' }, JSON.stringify(body));

async function open(answer: Answer = answering(KNOWN), env: Record<string, string> = {}) {
  const provider = await startReceiver(answer);
  const address = `http://user:pass%20word@127.0.0.1:${provider.port}/enrich?v=1`;
  const t = await buildWebhookApp({ env: { ENRICHMENT_URL: address, ...env } });
  onTestFinished(async () => {
    await t.app.close();
    await provider.close();
  });
  const add = async (body: object) => (await t.call('POST', '/v1/leads', body)).json().data;
  const events = async () => (await t.call('GET', '/v1/events?type=lead.enriched')).json().data;
  return { ...t, provider, add, events };
}

const questions = ({ requests }: Receiver) => requests.map(({ body }) => JSON.parse(body));

test("a lead is filled with the provider's additional facts, and each names its source", async () => {
  const { provider, add } = await open();
  const lead = await add({ email: 'dana.whitlock@acme.com', company: { location: 'Boulder' } });
  expect(provider.requests[0]).toMatchObject({
    method: 'POST',
    path: '/enrich?v=1',
    headers: { authorization: `Basic ${Buffer.from('user:pass word').toString('base64')}` },
  });
  expect(questions(provider)).toEqual([
    { email: 'dana.whitlock@acme.com', name: 'Dana Whitlock', domain: 'acme.com' },
  ]);
  expect(lead).toMatchObject({
    ...{ name: 'Dana Whitlock', title: 'Operations Manager', seniority: 'manager', department: 'operations' },
    company: { name: 'Acme', headcount: '120', industry: '', location: 'Boulder' },
    provenance: {
      title: { source: 'provider', confidence: 0.9, at: '2026-01-01T00:00:00.000Z' },
      'company.name': { source: 'provider', confidence: 0.7 },
      seniority: { source: 'title' },
      'company.location': { source: 'request' },
    },
  });
});

test('a fact that is too long is truncated between two characters', async () => {
  const title = '🚚'.repeat(301);
  const { add } = await open(answering({ person: { title } }));
  expect((await add({ email: 'dana.whitlock@acme.com' })).title).toBe(`${'🚚'.repeat(299)}…`);
});

test('it is asked each question once a day, and a fact is as old as the response', async () => {
  const { provider, add, clock, call } = await open();
  const { id } = await add({ email: 'dana@acme.com' });
  clock.advance(DAY_MS - 1);
  await call('PATCH', `/v1/leads/${id}`, { title: null });
  const again = await add({ email: 'dana@acme.com' });
  expect(again.provenance.title).toMatchObject({ source: 'provider', at: '2026-01-01T00:00:00.000Z' });
  expect(provider.requests).toHaveLength(1);
  clock.advance(1);
  await call('PATCH', `/v1/leads/${id}`, { title: null });
  expect((await add({ email: 'dana@acme.com' })).provenance.title.at).toBe('2026-01-02T00:00:00.000Z');
});

test('no request waits for it longer than two seconds; later facts are sent as lead.enriched', async () => {
  let finish = () => {};
  const { provider, add, clock, events, call, addWebhook, nudged } = await open(
    (response, request, socket) => {
      finish = () => answering(KNOWN)(response, request, socket);
    },
  );
  const { id: endpointId } = await addWebhook({ event_types: ['lead.enriched'] });
  const adding = add({ email: 'dana@acme.com' });
  await provider.received(1);
  clock.advance(2_000);
  const { id, title } = await adding;
  expect(title).toBe('');
  expect(await events()).toHaveLength(1);
  nudged.length = 0;
  clock.advance(1);
  finish();
  await expect.poll(async () => (await events()).length, { interval: 5 }).toBe(2);
  const [late] = await events();
  expect(late.data).toMatchObject({ previous: { title: '' }, current: { id, title: 'Operations Manager' } });
  expect(late.deliveries).toMatchObject([{ status: 'pending' }]);
  expect(nudged).toMatchObject([{ endpointId }]);
  expect((await call('GET', `/v1/leads/${id}`)).json().data.title).toBe('Operations Manager');
});

test('facts about somebody erased in the meantime are discarded, and responses are deleted', async () => {
  let finish = () => {};
  const { provider, add, clock, call } = await open((response, request, socket) => {
    finish = () => answering(KNOWN)(response, request, socket);
  });
  const adding = add({ email: 'dana@acme.com' });
  await provider.received(1);
  clock.advance(2_000);
  const { id } = await adding;
  await call('DELETE', `/v1/leads/${id}`);
  finish();
  provider.answer = status(404);
  const again = await add({ email: 'dana@acme.com' });
  expect(again.title).toBe('');
  expect((await call('GET', '/v1/leads')).json().data).toHaveLength(1);
});

test('after five failures, it is not asked for a minute, and leads are added without it', async () => {
  const { provider, add, clock, logLines } = await open(status(500));
  for (let i = 0; i < 7; i++) await add({ email: `p${i}@acme.com` });
  expect(provider.requests).toHaveLength(5);
  const warned = logLines.filter((line) => line.includes('enrichment provider'));
  expect(warned).toHaveLength(1);
  expect(warned[0]).not.toMatch(/acme|pass/);
  provider.answer = answering(KNOWN);
  clock.advance(60_000);
  expect((await add({ email: 'late@acme.com' })).title).toBe('Operations Manager');
});

test("queries that fail for one tenant do not pause the provider for others, the provider's own faults do", async () => {
  const { provider, add, call, addTenant } = await open(status(500));
  const { auth } = await addTenant();
  const addOther = async (email: string) =>
    (await call('POST', '/v1/leads', { email }, auth)).json().data.title;
  for (let i = 0; i < 7; i++) await add({ email: `p${i}@acme.com` });
  expect(provider.requests).toHaveLength(5);
  provider.answer = answering(KNOWN);
  expect(await addOther('dana@acme.com')).toBe('Operations Manager');
  expect((await add({ email: 'dana.whitlock@acme.com' })).title).toBe('');
  provider.answer = status(401);
  for (let i = 0; i < 7; i++) await addOther(`q${i}@acme.com`);
  expect(provider.requests).toHaveLength(11);
  const { auth: third } = await addTenant();
  await call('POST', '/v1/leads', { email: 'third@acme.com' }, third);
  expect(provider.requests).toHaveLength(11);
});

test('it is not asked until its Retry-After has passed, or beyond its daily limit', async () => {
  const { provider, add, clock } = await open(status(429, { 'retry-after': '30' }), {
    ENRICHMENT_DAILY_LIMIT: '2',
  });
  await add({ email: 'a@acme.com' });
  await add({ email: 'b@acme.com' });
  expect(provider.requests).toHaveLength(1);
  provider.answer = answering(KNOWN);
  clock.advance(30_000);
  await add({ email: 'c@acme.com' });
  await add({ email: 'd@acme.com' });
  expect(provider.requests).toHaveLength(2);
  clock.advance(DAY_MS);
  await add({ email: 'e@acme.com' });
  expect(provider.requests).toHaveLength(3);
});

test('a trial that the daily limit prevents does not put off the next one', async () => {
  const { provider, add, clock } = await open(status(500), { ENRICHMENT_DAILY_LIMIT: '5' });
  clock.advance(DAY_MS - 90_000);
  for (let i = 0; i < 5; i++) await add({ email: `p${i}@acme.com` });
  provider.answer = answering(KNOWN);
  clock.advance(60_000);
  await add({ email: 'late@acme.com' });
  expect(provider.requests).toHaveLength(5);
  clock.advance(30_000);
  expect((await add({ email: 'next-day@acme.com' })).title).toBe('Operations Manager');
});

test('no response within ten seconds is a failure, and so is one that is not JSON', async () => {
  const { provider, add, clock } = await open(hang);
  const adding = add({ email: 'a@acme.com' });
  await provider.received(1);
  clock.advance(10_000);
  expect((await adding).email).toBe('a@acme.com');
  provider.answer = status(200, {}, '<html>');
  expect((await add({ email: 'b@acme.com' })).title).toBe('');
});

test('an email address or profile of another lead stays with that lead', async () => {
  const { add, provider } = await open(status(404));
  await add({ linkedin_url: 'https://www.linkedin.com/in/dana' });
  provider.answer = answering(KNOWN);
  const lead = await add({ email: 'other@acme.com' });
  expect(lead).toMatchObject({ linkedin_url: '', title: 'Operations Manager' });
});

test('nothing is asked if it is turned off, if nothing identifies the lead, or if nothing is missing', async () => {
  const { add, provider } = await open();
  await add({ email: 'a@acme.com', enrich: false });
  expect(provider.requests).toEqual([]);
});
