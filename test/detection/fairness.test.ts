import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { MAX_ITEMS, RUN_LIMIT_MS } from '../../src/detection/run.ts';
import type { Source } from '../../src/model/source.ts';
import { hang, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { aTenant, T0 } from '../support/store.ts';
import { createHarness, type Harness, rss, settings, wanting } from './harness.ts';

const FEED = rss([['1', wanting('CRM')]]);

test('an unresponsive host delays nobody else, regardless of how many of its sources are due', async () => {
  const h = await createHarness();
  const dead = await startReceiver(hang);
  onTestFinished(() => dead.close());
  const slow = `http://127.0.0.1:${dead.port}/feed`;
  for (let n = 0; n < 40; n++) await h.add({ id: `src_slow${n}`, settings: settings({ url: slow }) });
  h.pages['/feed'] = status(200, {}, FEED);
  const quick = await h.add({ id: 'src_quick', nextPollAt: T0 });
  await h.poller.start();
  await h.ended(1); // the clock has not moved, so none of the slow ones can have ended
  expect(await h.source(quick)).toMatchObject({ lastSuccessAt: T0, signalsMade: 1 });
});

/** A host that never responds, and forty tenants with two sources each that read it under addresses of their own. */
async function withSlowTenants(h: Harness): Promise<Receiver> {
  const dead = await startReceiver(hang, undefined, { host: '0.0.0.0', port: 0 });
  onTestFinished(() => dead.close());
  for (let n = 0; n < 40; n++) {
    const tenantId = `ten_slow${n}`;
    await h.store.createTenant(aTenant(tenantId));
    for (const i of [0, 1]) {
      const url = `http://127.0.${i + 1}.${n + 1}:${dead.port}/feed`;
      await h.add({ id: `src_${n}_${i}`, tenantId, settings: settings({ url }), nextPollAt: T0 });
    }
  }
  return dead;
}

/** The source, once it has been read. */
async function lastRunOf(h: Harness, id: string): Promise<Source> {
  for (let runs = 1; runs < 100; runs++) {
    await h.ended(runs);
    const source = await h.source(id);
    if (source.lastRunAt !== null) return source;
  }
  throw new Error('it was never read');
}

test('forty tenants with unresponsive hosts leave a slot to another one within ten seconds', async () => {
  const h = await createHarness();
  const dead = await withSlowTenants(h);
  await h.poller.start();
  await dead.received(32);
  h.pages['/feed'] = status(200, {}, FEED);
  const quick = await h.add({ id: 'src_quick', nextPollAt: h.clock.now() });
  await h.pass(10_000);
  await lastRunOf(h, quick);
  expect(await h.source(quick)).toMatchObject({ lastSuccessAt: T0 + 10_000, signalsMade: 1 });
  const ended = await h.store.pageSourceRuns('src_0_0', { limit: 1, after: null });
  expect(ended.rows[0]?.error).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('other sources were waiting'),
  });
});

test('a run that gives its slot to others leaves what it has not compared to the next one', async () => {
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const h = await createHarness({
    wrap: (store) => ({
      ...store,
      async addRunSignals(run, signals) {
        reached.resolve();
        await goOn.promise;
        return store.addRunSignals(run, signals);
      },
    }),
  });
  const many = Array.from({ length: 120 }, (_, n): [string, string] => [`g${n}`, wanting(`CRM number ${n}`)]);
  h.pages['/feed'] = status(200, {}, rss(many));
  const id = await h.add({ nextPollAt: T0 - 1 });
  const dead = await withSlowTenants(h);
  await h.poller.start();
  await Promise.all([reached.promise, dead.received(31)]);
  await h.pass(10_000);
  goOn.resolve();
  const inPart = await lastRunOf(h, id);
  expect(inPart.itemsSeen).toBeGreaterThanOrEqual(50);
  expect(inPart.itemsSeen).toBeLessThan(120);
  expect(inPart).toMatchObject({ lastError: null, nextPollAt: T0 + 70_000 });
  dead.answer = status(404);
  dead.cut();
  await h.poller.stop();
  h.clock.advance(60_000);
  const position = (
    await h.store.claimSources({
      now: h.clock.now(),
      leaseUntil: h.clock.now(),
      ids: [id],
      token: 'run',
    })
  )[0]?.position;
  expect(position?.seen).toHaveLength(inPart.itemsSeen);
});

test('a long run on a host that tenants share does not keep the sources of others waiting', async () => {
  const h = await createHarness();
  let [pages, hasRun] = [0, false];
  void h.ended(1).then(() => {
    hasRun = true;
  });
  h.pages['/api/v1/search_by_date'] = async (response, { path }) => {
    const isSlow = path.includes('slow');
    if (isSlow) h.clock.advance(8_000);
    // From 16 s on, there is time for the other run: the clock of this test is faster.
    if (isSlow && ++pages > 1 && !hasRun) await sleep(200);
    const hits = [{ objectID: String(h.clock.now()), created_at: '2025-12-31T12:00:00Z', title: 'Cats' }];
    response.end(JSON.stringify({ nbPages: isSlow ? 50 : 1, hits }));
  };
  await h.store.createTenant(aTenant('ten_other'));
  const add = (id: string, tenantId: string, query: string, nextPollAt: number) =>
    h.add({ id, tenantId, name: id, kind: 'hackernews', settings: settings({ query }), nextPollAt });
  await add('src_slow', 'ten_a', 'slow', T0 - 1);
  await add('src_other', 'ten_other', 'quick', T0);
  await add('src_own', 'ten_a', 'quick', T0);
  await h.poller.start();
  await h.ended(3);
  const [slow, own] = await Promise.all(['src_slow', 'src_own'].map((id) => h.source(id)));
  const other = await h.store.getSource('ten_other', 'src_other');
  const slowEnd = slow?.lastRunAt ?? Number.NaN;
  expect(other?.lastRunAt).toBeLessThan(slowEnd);
  // Another source of the same tenant waits until the host is free.
  expect(own?.lastRunAt).toBeGreaterThanOrEqual(slowEnd);
});

test('a run ends when its time is up, regardless of its pages', async () => {
  const h = await createHarness();
  let page = 0;
  h.pages['/api/v1/search_by_date'] = (response) => {
    page++;
    // Each page arrives well within the timeout of a request, but all of them together never do.
    h.clock.advance(RUN_LIMIT_MS / 12);
    const hits = [{ objectID: String(page), created_at: '2025-12-31T12:00:00Z', title: 'Cats' }];
    response.end(JSON.stringify({ nbPages: 50, hits }));
  };
  const id = await h.add({ kind: 'hackernews', settings: settings({ query: 'crm' }) });
  h.pages['/api/v1/search_by_date'] = ((answer) => (response, request, socket) => {
    if (page < 8) answer(response, request, socket);
    else h.clock.advance(RUN_LIMIT_MS);
  })(h.pages['/api/v1/search_by_date'] ?? hang);
  await h.poller.start();
  await h.ended(1);
  const { lastError } = await h.source(id);
  expect(lastError).toMatchObject({ code: 'timeout', message: expect.stringContaining('5 minutes') });
});

test('a very long feed is read in parts, with short commits and nothing lost or duplicated', async () => {
  let commits: number[] = [];
  const h = await createHarness({
    wrap: (store) => ({
      ...store,
      addRunSignals: (run, signals) => {
        commits.push(signals.length);
        return store.addRunSignals(run, signals);
      },
      finishSourceRun: (run) => {
        commits.push(run.signals.length);
        return store.finishSourceRun(run);
      },
    }),
  });
  const total = MAX_ITEMS + 60;
  const many: [string, string][] = Array.from({ length: total }, (_, n) => [
    `g${n}`,
    n < 120 || n >= MAX_ITEMS ? wanting(`CRM for trade number ${n}`) : 'Cats are nice',
  ]);
  h.pages['/feed'] = status(200, { etag: '"all"' }, rss(many));
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({
    itemsSeen: MAX_ITEMS,
    signalsMade: 120,
    nextPollAt: T0 + 60_000,
  });
  await h.pass(60_000);
  expect(h.asked()[1]?.headers).not.toHaveProperty('if-none-match');
  expect(await h.source(id)).toMatchObject({ itemsSeen: total, signalsMade: 180 });
  expect(Math.max(...commits)).toBeLessThanOrEqual(10);
  commits = [];
  await h.pass(900_000);
  expect(h.asked()[2]?.headers).toMatchObject({ 'if-none-match': '"all"' });
  expect(await h.source(id)).toMatchObject({ itemsSeen: total, signalsMade: 180 });
});

test('claims one source at a time: the states of many job boards in one change hold up all others', async () => {
  const claims: number[] = [];
  const h = await createHarness({
    wrap: (store) => ({
      ...store,
      claimSources: (claim) => {
        claims.push(claim.ids.length);
        return store.claimSources(claim);
      },
    }),
  });
  h.pages['/feed'] = status(200, {}, rss([]));
  for (const host of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
    const url = `${h.origin.replace('127.0.0.1', host)}/feed`;
    await h.add({ id: `src_${host}`, name: host, settings: settings({ url }) });
  }
  await h.poller.start();
  await h.ended(3);
  expect(claims.length).toBeGreaterThanOrEqual(3);
  expect(Math.max(...claims)).toBe(1);
});

test('a search for due sources that takes long is followed by a pause of ten times its length', async () => {
  let searches = 0;
  const h = await createHarness({
    wrap: (store) => ({
      ...store,
      dueSources(now) {
        searches++;
        h.clock.advance(100);
        return store.dueSources(now);
      },
    }),
  });
  h.pages['/feed'] = status(200, {}, FEED);
  await h.add();
  await h.poller.start();
  await h.ended(1);
  for (let wakes = 0; wakes < 10; wakes++) {
    h.poller.wake();
    await h.store.nextSourceDue(0);
  }
  expect(searches).toBe(1);
  await h.add({ id: 'src_2' });
  h.clock.advance(1_000);
  await h.ended(2);
  expect(searches).toBe(2);
});
