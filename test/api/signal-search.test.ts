import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
  await observe(
    'crm',
    'We are looking for a CRM for our plumbers this week, which one would you recommend?',
    { name: 'Zoë Miller' },
  );
  await observe('van', 'We are looking for a van for our firm.', { name: 'Sam Plumber' });
  await observe('hi', 'Nice weather.', { name: 'Ann Other' });
});
afterEach(() => t.app.close());

async function observe(id: string, text: string, prospect: object = {}, headers = t.auth) {
  t.clock.advance(1_000);
  const payload = {
    platform: { name: 'hn' },
    external_id: id,
    text,
    prospect,
    company: { name: `${id} Ltd` },
  };
  await t.app.inject({ method: 'POST', url: '/v1/signals', headers, payload });
}

async function search(query: Record<string, string>, headers = t.auth) {
  const answer = await t.app.inject({ url: '/v1/signals', query, headers });
  return { status: answer.statusCode, body: answer.json() };
}

async function ids(query: Record<string, string>): Promise<string[]> {
  return (await search(query)).body.data.map((signal: { external_id: string }) => signal.external_id);
}

test('text, people and companies can be searched, combined with filters, in every order', async () => {
  expect(await ids({ q: 'plumber' })).toEqual(['van', 'crm']);
  expect(await ids({ q: 'plumber', sort: 'timestamp' })).toEqual(['crm', 'van']);
  expect(await ids({ q: 'plumber', sort: '-icp_score' })).toEqual(['crm', 'van']);
  expect(await ids({ q: 'zoe crm' })).toEqual(['crm']);
  expect(await ids({ q: 'ltd', classification: 'cold' })).toEqual(['hi']);
  expect(await ids({ q: 'ltd', to: '2026-01-01T00:00:03Z', platform: 'hn', icp: 'default' })).toEqual([
    'van',
    'crm',
  ]);
  expect(await ids({ q: 'ltd', min_score: '50' })).toEqual(['van', 'crm']);
  expect(await ids({ q: '"a crm"' })).toEqual(['crm']);
});

test.each([
  '"',
  '*',
  'AND',
  'crm OR',
  'NEAR(crm)',
  'terms:crm',
  '^crm',
  '-crm',
  '(',
  "'; DROP TABLE signals --",
  '\u0000',
  '﷽',
  '😀',
])('any input is searched literally and never interpreted: %j', async (q) => {
  const { status, body } = await search({ q });
  expect(q === '\u0000' ? [200, 400] : [200]).toContain(status);
  if (status === 200) expect(Array.isArray(body.data)).toBe(true);
});

test('an empty search does not filter', async () => {
  expect(await ids({ q: ' ' })).toEqual(['hi', 'van', 'crm']);
});

test('a search of more than 500 characters is rejected', async () => {
  const { status, body } = await search({ q: 'x'.repeat(501) });
  expect([status, body.errors[0].parameter]).toEqual([400, 'q']);
});

test('pages of a search show each signal once while others are added, and are bound to it', async () => {
  for (let i = 0; i < 5; i++) await observe(`more-${i}`, `Plumber ${i}`);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const query = { q: 'plumber', limit: '2', ...(cursor === null ? {} : { cursor }) };
    const { body } = await search(query);
    seen.push(...body.data.map((signal: { external_id: string }) => signal.external_id));
    cursor = body.pagination.next_cursor;
    await observe(`late-${seen.length}`, 'Late plumber');
  } while (cursor !== null);
  expect(seen).toEqual(['more-4', 'more-3', 'more-2', 'more-1', 'more-0', 'van', 'crm']);
  const { body } = await search({ q: 'plumber', limit: '2' });
  const foreign = await search({ q: 'van', limit: '2', cursor: body.pagination.next_cursor });
  expect(foreign.body.code).toBe('INVALID_CURSOR');
});

test('signals of another tenant are not found', async () => {
  const { auth } = await t.addTenant();
  expect((await search({ q: 'plumber' }, auth)).body.data).toEqual([]);
  await observe('theirs', 'A plumber.', {}, auth);
  expect(await ids({ q: 'plumber' })).toEqual(['van', 'crm']);
});
