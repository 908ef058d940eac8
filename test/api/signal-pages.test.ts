import { afterEach, beforeEach, expect, test } from 'vitest';
import { explanationSchema, signalSchema } from '../../src/model/signal.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

function get(url: string, headers: Record<string, string> = t.auth) {
  return t.app.inject({ url, headers });
}

/** Observes posts `from` to `to`, a second apart. */
async function observe(from: number, to: number, overrides: Record<string, unknown> = {}) {
  for (let i = from; i <= to; i++) {
    t.clock.advance(1_000);
    const payload = aPost({ platform: { name: 'hn' }, external_id: `post-${i}`, ...overrides });
    const answer = await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload });
    expect(answer.statusCode).toBe(201);
  }
}

const externalIds = (page: { data: { external_id: string }[] }) => page.data.map((s) => s.external_id);

test('a page matches the schema exactly, although no serializer produced it', async () => {
  await observe(1, 3);
  const page = (await get('/v1/signals')).json();
  expect(page.data).toHaveLength(3);
  for (const row of page.data) expect(signalSchema.parse(row)).toEqual(row);
  expect(page.pagination).toEqual({ next_cursor: null, has_more: false, limit: 25 });
});

test('an empty list is a page without rows', async () => {
  expect((await get('/v1/signals')).json()).toEqual({
    data: [],
    pagination: { next_cursor: null, has_more: false, limit: 25 },
  });
});

test('with include=explanation every row is explained', async () => {
  await observe(1, 2);
  const page = (await get('/v1/signals?include=explanation')).json();
  for (const { explanation, icp_score } of page.data) {
    expect(explanationSchema.parse(explanation).score).toBe(icp_score);
  }
});

test('a single signal also has its text and explanation', async () => {
  await observe(1, 1, { text: 'We "need" a CRM\nsoon 😀' });
  const [row] = (await get('/v1/signals')).json().data;
  const { text, explanation, ...wire } = (await get(`/v1/signals/${row.signal_id}`)).json().data;
  expect(wire).toEqual(row);
  expect(text).toBe('We "need" a CRM\nsoon 😀');
  expect(explanationSchema.parse(explanation)).toEqual(explanation);
});

test.each(['-timestamp', 'timestamp', '-icp_score'])(
  'pages by %s show every row once while rows are added',
  async (sort) => {
    await observe(1, 7);
    const seen: string[] = [];
    let url: string | null = `/v1/signals?limit=3&sort=${sort}`;
    let added = 100;
    while (url !== null) {
      const answer: Awaited<ReturnType<typeof get>> = await get(url);
      seen.push(...externalIds(answer.json()));
      const link = /^<https:\/\/signals\.example\.com(\/[^>]*)>; rel="next"$/.exec(
        String(answer.headers.link ?? ''),
      );
      expect(link !== null).toBe(answer.json().pagination.has_more);
      url = link?.[1] ?? null;
      if (added < 103) await observe(added, added++);
    }
    expect(new Set(seen).size).toBe(seen.length);
    for (let i = 1; i <= 7; i++) expect(seen).toContain(`post-${i}`);
  },
);

test('filters narrow the list, whether repeated or comma-separated', async () => {
  await observe(1, 1, { platform: { name: 'hn' }, signal_type: 'review', company: { domain: 'Acme.com' } });
  await observe(2, 2, { platform: { name: 'reddit' }, signal_type: 'qa_forum' });
  await observe(3, 3, { platform: { name: 'x' } });
  const ids = async (query: string) => externalIds((await get(`/v1/signals?${query}`)).json());
  expect(await ids('platform=hn,reddit')).toEqual(['post-2', 'post-1']);
  expect(await ids('platform=hn&platform=x')).toEqual(['post-3', 'post-1']);
  expect(await ids('signal_type=review')).toEqual(['post-1']);
  expect(await ids('company_domain=acme.com')).toEqual(['post-1']);
  expect(await ids('icp=Default&sort=timestamp')).toEqual(['post-1', 'post-2', 'post-3']);
  expect(await ids('icp=Nobody')).toEqual([]);
  expect(await ids('from=2026-01-01T00:00:02Z&to=2026-01-01T01:00:03%2B01:00')).toEqual(['post-2']);
  expect(await ids('min_score=100')).toEqual([]);
});

test('a cursor is valid only for its tenant, filters and sort order, and only unmodified', async () => {
  await observe(1, 3);
  const first = (await get('/v1/signals?limit=1&platform=hn')).json();
  const cursor = first.pagination.next_cursor;
  const other = await t.addTenant();
  const flipped = cursor.replace(/.$/, (c: string) => (c === 'A' ? 'B' : 'A'));
  const refused: [string, Record<string, string>][] = [
    [`/v1/signals?limit=1&platform=hn&cursor=${flipped}`, t.auth],
    [`/v1/signals?limit=1&platform=hn&cursor=nonsense`, t.auth],
    [`/v1/signals?limit=1&platform=hn&cursor=`, t.auth],
    [`/v1/signals?limit=1&cursor=${cursor}`, t.auth],
    [`/v1/signals?limit=1&platform=hn&sort=timestamp&cursor=${cursor}`, t.auth],
    [`/v1/signals?limit=1&platform=hn&cursor=${cursor}`, other.auth],
    [`/v1/webhooks?cursor=${cursor}`, t.auth],
  ];
  for (const [url, headers] of refused) {
    expect((await get(url, headers)).json()).toMatchObject({ code: 'INVALID_CURSOR', status: 400 });
  }
  const next = await get(`/v1/signals?limit=2&platform=hn&include=explanation&cursor=${cursor}`);
  expect(externalIds(next.json())).toEqual(['post-2', 'post-1']);
});

test('signals of another tenant are not listed', async () => {
  await observe(1, 1);
  const [row] = (await get('/v1/signals')).json().data;
  const other = await t.addTenant();
  expect((await get('/v1/signals', other.auth)).json().data).toEqual([]);
  const answer = await get(`/v1/signals/${row.signal_id}`, other.auth);
  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toMatchObject({ code: 'NOT_FOUND', instance: `/v1/signals/${row.signal_id}` });
});
