import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/clock.ts';
import { status } from '../support/receiver.ts';
import { T0 } from '../support/store.ts';
import { createHarness, type Harness, rss, SECRET_BOX, settings, wanting } from './harness.ts';

const SE = '/2.3/search/advanced';
const json = (body: object) => status(200, {}, JSON.stringify(body));

async function addTwo(h: Harness) {
  await h.add({ kind: 'stackexchange', settings: settings({ site: 'diy', query: 'crm' }) });
  const later = { id: 'src_2', nextPollAt: T0 + 1_000 };
  await h.add({ ...later, kind: 'stackexchange', settings: settings({ site: 'superuser', query: 'crm' }) });
  await h.poller.start();
  await h.ended(1);
}

test('a backoff applies to every source of the method, even after a restart', async () => {
  const h = await createHarness();
  h.pages[SE] = json({ items: [], backoff: 1_200, quota_remaining: 250, quota_max: 300 });
  await addTwo(h);
  await h.pass(1_000);
  expect(await h.source('src_2')).toMatchObject({
    lastError: { code: 'rate_limited' },
    nextPollAt: T0 + 1_200_000,
  });
  expect(h.asked()).toHaveLength(1);
  expect(await h.source('src_1')).toMatchObject({ quota: { remaining: 250, limit: 300, at: T0 } });
  expect(await h.store.hostHolds(T0)).toEqual([
    { host: new URL(h.origin).host, scope: '/search/advanced', until: T0 + 1_200_000 },
  ]);
  expect(await h.store.hostHolds(T0 + 1_200_000)).toEqual([]);
});

test('honours pauses requested before this process started', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([['1', wanting('CRM')]]));
  const host = new URL(h.origin).host;
  await h.store.holdHost({ host, scope: '', until: T0 + 7_200_000 });
  await h.store.holdHost({ host, scope: '', until: T0 + 5_000 }); // the longer one applies
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({
    lastError: { code: 'rate_limited' },
    nextPollAt: T0 + 7_200_000,
  });
  expect(h.site.requests).toEqual([]);
  await h.pass(7_200_000);
  expect(await h.source(id)).toMatchObject({ lastError: null, signalsMade: 1 });
});

test('an exhausted quota pauses all who share it until the next day; a key has its own', async () => {
  const h = await createHarness();
  h.pages[SE] = json({ items: [], quota_remaining: 0, quota_max: 300 });
  const key = SECRET_BOX.seal('K', 'source/src_key/key').toString('base64');
  const withKey = { id: 'src_key', nextPollAt: T0 + 2_000, secrets: { key } };
  await h.add({ ...withKey, kind: 'stackexchange', settings: settings({ site: 'diy', query: 'x' }) });
  await addTwo(h);
  await h.pass(1_000);
  expect(await h.source('src_2')).toMatchObject({ nextPollAt: T0 + 86_400_000 });
  h.pages[SE] = json({ items: [], quota_remaining: 9_999, quota_max: 10_000 });
  await h.pass(1_000);
  expect(await h.source('src_key')).toMatchObject({ lastError: null, quota: { remaining: 9_999 } });
  expect(new URLSearchParams(h.asked()[1]?.path.split('?')[1]).get('key')).toBe('K');
});

test('a backoff of ages pauses for a day', async () => {
  const h = await createHarness();
  h.pages[SE] = json({ items: [], backoff: Number.MAX_SAFE_INTEGER });
  const asking = settings({ site: 'superuser', tagged: ['crm'] });
  const id = await h.add({ kind: 'stackexchange', settings: asking });
  await h.poller.start();
  await h.ended(1);
  expect((await h.source(id)).nextPollAt).toBe(T0 + DAY_MS);
  // It applies to all sources of the method.
  const other = await h.add({ id: 'src_2', kind: 'stackexchange', name: 'Other', settings: asking });
  await h.pass(0);
  expect((await h.source(other)).nextPollAt).toBe(T0 + DAY_MS);
  h.pages[SE] = json({ items: [] });
  await h.pass(DAY_MS);
  await h.ended(4);
  expect([(await h.source(id)).lastError, (await h.source(other)).lastError]).toEqual([null, null]);
});

test.each([
  ['reddit', { subreddit: 'sales', client_id: 'app' }],
  ['github', { query: 'crm' }],
] as const)('%s: a quota that is no number is not shown', async (kind, given) => {
  const h = await createHarness();
  const body = JSON.stringify({ access_token: 't', data: { children: [] }, items: [] });
  h.pages['*'] = status(200, { 'x-ratelimit-remaining': '1e400', 'x-ratelimit-limit': '1e300' }, body);
  const secret = SECRET_BOX.seal('hush', 'source/src_1/client_secret').toString('base64');
  const secrets = kind === 'reddit' ? { client_secret: secret } : {};
  const id = await h.add({ kind, settings: settings(given), secrets });
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ lastError: null, quota: null });
});
