import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { readRows } from '../support/table-rows.ts';

/** In lower case. */
const TRACES = ['zebediah quirke', 'zebediah-quirke', 'quirke, zebediah', 'zq@acme.com'];

let t: TestApp;
let file: string;
beforeEach(async () => {
  file = join(tempFolder(), 'signalpost.db');
  t = await buildTestApp({ file, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

async function call(
  method: 'POST' | 'PATCH' | 'PUT' | 'GET' | 'DELETE',
  url: string,
  payload?: object,
  key?: string,
) {
  const headers = { ...t.auth, ...(key === undefined ? {} : { 'idempotency-key': key }) };
  const answer = await t.app.inject({ method, url, headers, ...(payload && { payload }) });
  expect(answer.statusCode, answer.body).toBeLessThan(300);
  return answer.body === '' ? null : answer.json().data;
}

const makeLead = (overrides: object = {}) =>
  call('POST', '/v1/leads', {
    name: 'Zebediah Quirke',
    email: 'zq@acme.com',
    company: { name: 'Acme', domain: 'acme.com' },
    ...overrides,
  });

const erase = (lead: { id: string }) => call('DELETE', `/v1/leads/${lead.id}`);

async function postOf(overrides: Record<string, unknown>, key?: string): Promise<{ signal_id: string }> {
  const { signals } = await call('POST', '/v1/signals', aPost(overrides), key);
  return signals[0];
}

const read = (signal: { signal_id: string }) => call('GET', `/v1/signals/${signal.signal_id}`);

/** Tables and rows that contain any text of the person. */
const traces = () =>
  Object.entries(readRows(file)).flatMap(([table, rows]) =>
    rows
      .filter((row) => TRACES.some((trace) => row.toLowerCase().includes(trace)))
      .map((row) => `${table}: ${row}`),
  );

const tracedTables = () => new Set(traces().map((trace) => trace.split(':')[0]));

test("other people's posts no longer name the person in text, title, URL or ID, and neither do their deliveries", async () => {
  const url = 'http://127.0.0.1:9/hook';
  await call('POST', '/v1/webhooks', { url, event_types: ['signal.detected', 'signal.new_hot'] });
  const lead = await makeLead();
  const author = { name: 'Ann Lee', email: 'ann@example.com' };
  const posts = [
    {
      platform: { name: 'a' },
      text: 'Zebediah\nQUIRKE says we need a CRM. So does Zebediah.',
      prospect: author,
    },
    {
      platform: { name: 'b' },
      text: 'Which CRM do you use for twelve vans and two offices?',
      prospect: { ...author, title: 'Assistant to Zebediah Quirke' },
    },
    {
      platform: { name: 'c', post_url: 'https://forum.example.com/u/zebediah-quirke/1' },
      text: 'Our spreadsheets fall apart: what do other roofers recommend?',
      prospect: author,
    },
    {
      platform: { name: 'd' },
      external_id: 'quirke, zebediah #7',
      text: 'Looking for scheduling software, budget approved, by March.',
      prospect: author,
    },
  ];
  const signals = [];
  for (const post of posts) signals.push(await postOf(post, `key-${post.platform.name}`));
  expect([...tracedTables()]).toEqual(
    expect.arrayContaining(['delivery_bodies', 'events', 'idempotency_keys', 'signals']),
  );
  await erase(lead);
  expect(traces()).toEqual([]);

  const [first, second, third, fourth] = await Promise.all(signals.map(read));
  expect(first.text).toBe('███████████████ says we need a CRM. So does Zebediah.');
  expect(second.prospect).toEqual({
    ...second.prospect,
    name: 'Ann Lee',
    title: 'Assistant to ███████████████',
  });
  expect(third.platform.post_url).toBe('');
  expect(fourth.external_id).toBeNull();
  expect((await t.store.listDueLanes()).length).toBe(1);
  // The stored response of an earlier post is kept, and no longer names them.
  const again = await t.app.inject({
    method: 'POST',
    url: '/v1/signals',
    headers: { ...t.auth, 'idempotency-key': 'key-b' },
    payload: aPost(posts[1]),
  });
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(again.body).toContain('Assistant to ███');
});

test('the other places where a post was seen no longer name the person', async () => {
  const lead = await makeLead();
  const text =
    'Looking for scheduling software for our vans, the budget is approved, and it must run by March.';
  const prospect = { email: 'ann@example.com' };
  const signal = await postOf({ platform: { name: 'a', post_url: 'https://a.example/1' }, text, prospect });
  const again = { name: 'b', post_url: 'https://b.example/zebediah-quirke/1' };
  await postOf({ platform: again, external_id: 'Zebediah Quirke 1', text, prospect });
  expect([...tracedTables()]).toEqual(expect.arrayContaining(['signal_places', 'signals']));
  await erase(lead);
  expect(traces()).toEqual([]);
  const left = await read(signal);
  expect(left).toMatchObject({
    platform: { post_url: 'https://a.example/1' },
    also_seen: [{ platform: 'b', post_url: '' }],
  });
});

test('feedback on other posts, and other leads with tags, source, fields, reasons and events, no longer name them', async () => {
  const lead = await makeLead();
  const signal = await postOf({ prospect: { email: 'ann@example.com' } });
  const reason = 'Zebediah Quirke told us';
  await call('POST', `/v1/signals/${signal.signal_id}/feedback`, { relevant: true, reason });
  const other = await call('POST', '/v1/leads', {
    email: 'ann@example.com',
    source: 'Zebediah Quirke',
    tags: ['via zebediah quirke', 'vip'],
    custom_fields: { recommended_by: 'Quirke, Zebediah <zq@acme.com>' },
  });
  const followUp = { notes: reason, next_step: { text: 'Ask Zebediah Quirke again' } };
  await call('PATCH', `/v1/leads/${other.id}`, followUp);
  await call('PUT', `/v1/pipeline/${other.id}/stage`, { stage: 'lost', reason });
  expect(tracedTables()).toEqual(
    new Set(['events', 'lead_identities', 'lead_tags', 'leads', 'signal_feedback', 'stage_moves']),
  );
  await erase(lead);
  expect(traces()).toEqual([]);
  const left = await call('GET', `/v1/leads/${other.id}`);
  expect(left).toMatchObject({ email: 'ann@example.com', source: '███████████████', stage: 'lost' });
  expect(left.tags.sort()).toEqual(['via ███████████████', 'vip']);
  const tagged = await t.app.inject({ url: '/v1/leads?tag=vip', headers: t.auth });
  expect(tagged.json().data).toHaveLength(1);
});

test.each([
  [
    'another of that name, who is known to be another',
    { prospect: { name: 'Zebediah Quirke', email: 'z2@b.com' } },
  ],
  ['longer names', { text: 'We need a CRM, says Zebediah Quirkeson, and so does Ozebediah Quirke.' }],
  ['one of their names', { text: 'We need a CRM, says Quirke. Zebediah agrees.' }],
  ['two sentences', { text: 'We need a CRM. So says Zebediah. Quirke agrees.' }],
])('%s stay as they are', async (_, post) => {
  const lead = await makeLead();
  const signal = await postOf(post);
  const before = await read(signal);
  await erase(lead);
  expect(await read(signal)).toEqual(before);
});

test('a name that is the company’s, or was only derived from an address, is not searched for', async () => {
  const shop = await makeLead({
    name: 'Quirke Plumbing',
    company: { name: 'Quirke Plumbing', domain: 'acme.com' },
  });
  const guessed = await call('POST', '/v1/leads', { email: 'will.power@b.com' });
  expect(guessed.name).toBe('Will Power');
  const text = 'We need a CRM at Quirke Plumbing; will power alone does not do it.';
  const signal = await postOf({ text });
  await erase(shop);
  await erase(guessed);
  expect((await read(signal)).text).toBe(text);
});

test('immediately after an erasure, neither the file nor those next to it contain the person', async () => {
  const signal = {
    text: `Zebediah Quirke needs a CRM. ${'Any recommendations? '.repeat(500)}`,
    prospect: { name: 'Zebediah Quirke', email: 'zq@acme.com' },
  };
  const { signal_id } = await postOf(signal, 'k1');
  const lead = await call('POST', '/v1/leads', { signal_ids: [signal_id], tags: ['vip'] }, 'k2');
  await call('PUT', `/v1/pipeline/${lead.id}/stage`, { stage: 'lost', reason: 'Zebediah Quirke said no' });
  const bytes = (suffix: string) => readFileSync(`${file}${suffix}`).toString('latin1').toLowerCase();
  expect(bytes('-wal')).toContain('zebediah quirke');
  await erase(lead);
  for (const suffix of ['', '-wal', '-shm']) {
    expect(TRACES.filter((trace) => bytes(suffix).includes(trace))).toEqual([]);
  }
  expect(bytes('-wal')).toBe('');
});
