import { expect, test } from 'vitest';
import { status } from '../support/receiver.ts';
import { aSource } from '../support/sources.ts';
import { anEndpoint, T0 } from '../support/store.ts';
import { createHarness, rss, settings, wanting } from './harness.ts';

test('matching items create signals, others do not, and the source counts both kinds', async () => {
  const h = await createHarness();
  await h.store.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
  h.pages['/feed'] = status(200, {}, rss([['1', wanting('CRM')], ['2', 'Cats are nice']])); // biome-ignore format: one line
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  expect(await h.texts()).toEqual([`Post\n\n${wanting('CRM')}`]);
  expect(await h.source(id)).toMatchObject({
    lastRunAt: T0,
    lastSuccessAt: T0,
    lastError: null,
    nextPollAt: T0 + 900_000,
    itemsSeen: 2,
    signalsMade: 1,
  });
  expect(h.nudged).toEqual([{ endpointId: 'whk_a', tenantId: 'ten_a' }]);
});

test('a source is read again with validators after its interval, and only new items count', async () => {
  const h = await createHarness();
  const headers = { etag: '"v1"', 'last-modified': 'Wed, 31 Dec 2025 00:00:00 GMT' };
  h.pages['/feed'] = status(200, headers, rss([['1', wanting('CRM')]]));
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  h.pages['/feed'] = status(304);
  await h.pass(900_000);
  expect(h.asked()[1]?.headers).toMatchObject({
    'if-none-match': '"v1"',
    'if-modified-since': 'Wed, 31 Dec 2025 00:00:00 GMT',
  });
  h.pages['/feed'] = status(200, {}, rss([['2', wanting('van')], ['1', wanting('CRM')]])); // biome-ignore format: one line
  await h.pass(900_000);
  expect(await h.texts()).toHaveLength(2);
  expect(await h.source(id)).toMatchObject({ itemsSeen: 2, signalsMade: 2, lastSuccessAt: T0 + 1_800_000 });
});

test('the timer alone wakes the poller when a source is due', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([]));
  await h.add({ nextPollAt: T0 + 10_000 });
  await h.poller.start();
  await expect.poll(() => h.clock.pending()).toBeGreaterThan(0);
  h.clock.advance(10_000);
  await h.ended(1);
  expect(h.asked()).toHaveLength(1);
});

test('a paused source is not read', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([]));
  await h.add({ status: 'paused' });
  const active = await h.add({ id: 'src_2', settings: settings({ url: `${h.origin}/other` }) });
  h.pages['/other'] = status(200, {}, rss([]));
  await h.poller.start();
  await h.ended(1);
  expect(h.asked().map(({ path }) => path)).toEqual(['/other']);
  expect((await h.source(active)).lastSuccessAt).toBe(T0);
});

test('the delay doubles with each failure, up to six hours, and the position does not change', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, { etag: '"v1"' }, rss([['1', wanting('CRM')]]));
  const id = await h.add({ intervalSeconds: 3_600 });
  await h.poller.start();
  await h.ended(1);
  h.pages['/feed'] = status(500);
  const waits = [];
  for (let wait = 3_600_000; waits.length < 5; ) {
    await h.pass(wait);
    wait = (await h.source(id)).nextPollAt - h.clock.now();
    waits.push(wait / 3_600_000);
  }
  expect(waits).toEqual([1, 2, 4, 6, 6]);
  expect(await h.source(id)).toMatchObject({
    failures: 5,
    lastError: { code: 'http_status' },
    lastSuccessAt: T0,
  });
  h.pages['/feed'] = status(304);
  await h.pass(6 * 3_600_000);
  expect(h.asked().at(-1)?.headers).toMatchObject({ 'if-none-match': '"v1"' });
  expect(await h.source(id)).toMatchObject({ failures: 0, lastError: null, signalsMade: 1 });
});

test('after the clock is set back, a source is read soon, not once the clock has caught up', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([]));
  const id = await h.add();
  h.clock.stepWall(2 * 3_600_000);
  await h.poller.start();
  await h.ended(1);
  expect((await h.source(id)).nextPollAt).toBe(T0 + 2 * 3_600_000 + 900_000);
  h.clock.stepWall(-2 * 3_600_000);
  await h.pass(30_000);
  expect(await h.source(id)).toMatchObject({ lastRunAt: T0 + 30_000, nextPollAt: T0 + 30_000 + 900_000 });
});

test('a pause requested by a host does not grow when the clock is set back', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(429, { 'retry-after': '60' });
  const id = await h.add();
  h.clock.stepWall(2 * 3_600_000);
  await h.poller.start();
  await h.ended(1);
  h.pages['/feed'] = status(200, {}, rss([]));
  h.clock.stepWall(-2 * 3_600_000);
  h.poller.wake();
  await expect.poll(async () => (await h.source(id)).nextPollAt).toBe(T0 + 60_000);
  await h.pass(60_000);
  expect((await h.source(id)).lastError).toBeNull();
});

test('a run that was not stored before a crash is repeated, and creates each signal once', async () => {
  let dying = true;
  const h = await createHarness({
    wrap: (store) => ({
      ...store,
      async finishSourceRun(run) {
        if (dying) throw new Error('killed');
        return store.finishSourceRun(run);
      },
      async putOffSource(run, until) {
        if (dying) throw new Error('killed');
        return store.putOffSource(run, until);
      },
    }),
  });
  h.pages['/feed'] = status(200, { etag: '"v1"' }, rss([['1', wanting('CRM')]]));
  const id = await h.add();
  await h.poller.start();
  await h.ended(2); // its result, and its failure
  expect(await h.texts()).toEqual([]);
  dying = false;
  await h.pass(15 * 60_000); // its lease
  expect(h.asked()[1]?.headers).not.toHaveProperty('if-none-match');
  expect(await h.texts()).toHaveLength(1);
  expect(await h.source(id)).toMatchObject({ itemsSeen: 1, signalsMade: 1 });
});

test('a post already received through the API creates no second signal', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([['1', wanting('CRM')]]));
  const id = await h.add();
  const again = await h.add({ id: 'src_2', name: 'The same feed' });
  await h.poller.start();
  await h.ended(2);
  const made = (await h.source(id)).signalsMade + (await h.source(again)).signalsMade;
  expect([made, (await h.texts()).length]).toEqual([1, 1]);
});

test('posts with the same ID in two feeds are distinct, and the ID is shown as in the feed', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([['1', wanting('CRM')]]));
  h.pages['/other'] = status(200, {}, rss([['1', `${wanting('van')} Ours is at its end.`]]));
  await h.add();
  await h.add({ id: 'src_2', name: 'Other', settings: settings({ url: `${h.origin}/other` }) });
  await h.poller.start();
  await h.ended(2);
  expect(await h.texts()).toHaveLength(2);
  const posts = await h.store.listPosts('ten_a', 10);
  expect(posts.map(({ wire }) => JSON.parse(wire).external_id)).toEqual(['1', '1']);
});

test('matches only the profiles of a source; if none is active, nothing is skipped', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, { etag: '"v1"' }, rss([['1', wanting('CRM')]]));
  const id = await h.add({ profileIds: ['icp_gone'] });
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ lastError: { code: 'no_active_profile' }, itemsSeen: 0 });
  await h.store.changeSource(
    aSource({ ...(await h.source(id)), profileIds: ['icp_ten_a'], version: 2 }),
    false,
  );
  await h.pass(900_000);
  expect(h.asked()[1]?.headers).not.toHaveProperty('if-none-match');
  expect(await h.texts()).toHaveLength(1);
});

test('stopping cancels runs without storing anything', async () => {
  const h = await createHarness();
  h.pages['/feed'] = () => {};
  const id = await h.add();
  await h.poller.start();
  await h.site.received(2); // robots.txt and the feed
  await h.poller.stop();
  expect(await h.source(id)).toMatchObject({ lastRunAt: null, lastError: null, failures: 0 });
  // Released, so that the next start does not mistake it for an interrupted run.
  expect(await h.store.dueSources(h.clock.now())).toMatchObject([{ id }]);
});
