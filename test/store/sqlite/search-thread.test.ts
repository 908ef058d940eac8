import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { SignalQuery } from '../../../src/model/signal.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import {
  createListingBound,
  createLongSearchTest,
  createSearchEstimate,
  createSearchThreads,
} from '../../../src/store/sqlite/search-thread.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aSignal, aTenant, T0 } from '../../support/store.ts';
import { ANY, rowsOf } from '../contract/signal-list.ts';
import { tempFolder } from './temp-folder.ts';

const POSTS = 200;
/** "b b" does not occur, but each post has ten thousand candidates for it. */
const TEXT = 'a b '.repeat(10_000);

async function filledStore(file = join(tempFolder(), 'signalpost.db')) {
  const store = await openSqliteStore({ file, clock: createManualClock(T0), writerThread: true });
  onTestFinished(store.close);
  await store.createTenant(aTenant('ten_a'));
  const signals = Array.from({ length: POSTS }, (_, i) => aSignal('ten_a', { id: `sig_${i}`, text: TEXT }));
  for (let at = 0; at < POSTS; at += 20) await store.commitSignals(signals.slice(at, at + 20));
  return store;
}

test('a missing phrase of common words delays nobody else, and existing phrases are found', async () => {
  const store = await filledStore();
  const search = (q: string) => store.listSignals('ten_a', { ...ANY, q, limit: 5 });
  expect(rowsOf(await search('"a b a"'))).toHaveLength(5);
  const before = performance.eventLoopUtilization();
  expect(rowsOf(await search('"b b"'))).toEqual([]);
  const { active, idle } = performance.eventLoopUtilization(before);
  // In the server's own thread, all of this time would have been active.
  expect(active).toBeLessThan((active + idle) / 2);
});

test('counting a missing phrase of common words delays nobody else', async () => {
  const store = await filledStore();
  const count = (q: string) => store.countSignals('ten_a', { ...ANY, q, limit: 5 }, 50);
  expect(await count('"a b a"')).toBe(50);
  const before = performance.eventLoopUtilization();
  expect(await count(`"${'a b '.repeat(40)} b"`)).toBe(0);
  const { active, idle } = performance.eventLoopUtilization(before);
  expect(active).toBeLessThan((active + idle) / 2);
});

test('concurrent searches each get their own result', async () => {
  const store = await filledStore();
  const asked = ['"a b"', '"b a"', '"b b"', 'a', '"a b"'];
  const found = await Promise.all(asked.map((q) => store.listSignals('ten_a', { ...ANY, q, limit: 3 })));
  expect(found.map((page) => rowsOf(page).length)).toEqual([3, 3, 0, 3, 3]);
  expect(found[0]?.last).toEqual(found[4]?.last);
});

test('a search of one tenant does not wait for those of another', async () => {
  const store = await filledStore();
  await store.createTenant(aTenant('ten_b'));
  const ended: string[] = [];
  const search = (tenantId: string, q: string) =>
    store.listSignals(tenantId, { ...ANY, q, limit: 5 }).then(() => ended.push(tenantId));
  await Promise.all([search('ten_a', '"b b"'), search('ten_b', '"b b"')]); // starts the threads
  const long = `"${'a b '.repeat(40)} b"`;
  await Promise.all([search('ten_a', long), search('ten_a', long), search('ten_b', '"b b"')]);
  expect(ended.slice(2)).toEqual(['ten_b', 'ten_a', 'ten_a']);
});

test('how long a search for phrases takes is estimated from the number of their words in all posts', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await filledStore(file);
  const estimate = createSearchEstimate(new Sqlite(file, { readonly: true }));
  const asked = (q: string) => estimate('ten_a', { ...ANY, q, limit: 5 });
  expect(['"a b a"', '"b b" "a b"', 'a b', '"a c"', '""'].map(asked)).toEqual(
    [3, 4, 0, 1, 0].map((words) => words * POSTS * 10_000),
  );
  expect(estimate('ten_a', { ...ANY, q: 'a-b-x', qBegins: true, limit: 5 })).toBe(2 * 32 * POSTS * 10_000);
});

test('how long a search for many words takes is estimated from the number of posts with each', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await filledStore(file);
  const db = new Sqlite(file);
  onTestFinished(() => void db.close());
  const estimate = createSearchEstimate(db);
  const asked = (q: string) => estimate('ten_a', { ...ANY, q, limit: 5 });
  expect(asked('a b c d e f g h i j')).toBe(0);
  // Of few posts, all may have them.
  expect(asked('a b c d e f g h i j k')).toBe(12 * 11 * POSTS);
  expect(asked('"a b" c d e f g h i j k l m')).toBe(12 * 11 * POSTS + 2 * POSTS * 10_000);
  db.exec('UPDATE stored_rows SET signals = 1000000');
  expect(asked('a b c d e f g h i j k')).toBe(12 * 2 * POSTS);
});

test('long searches of three tenants leave a thread to a fourth', async () => {
  const store = await filledStore();
  for (const tenant of ['ten_b', 'ten_c', 'ten_d']) await store.createTenant(aTenant(tenant));
  for (const tenant of ['ten_b', 'ten_c']) {
    const signals = Array.from({ length: 100 }, (_, i) =>
      aSignal(tenant, { id: `sig_${tenant}${i}`, text: TEXT }),
    );
    for (let at = 0; at < signals.length; at += 20) await store.commitSignals(signals.slice(at, at + 20));
  }
  const ended: string[] = [];
  const search = (tenantId: string, q: string) =>
    store
      .listSignals(tenantId, { ...ANY, q, limit: 5 })
      .then((page) => ended.push(`${tenantId} ${rowsOf(page).length}`));
  const long = `"${'a b '.repeat(40)} b"`;
  await Promise.all([
    ...['ten_a', 'ten_b', 'ten_c'].map((tenant) => search(tenant, long)),
    search('ten_d', '"b b"'),
  ]);
  expect(ended[0]).toBe('ten_d 0');
});

test('searches in progress and waiting ones are refused once the server stops', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await filledStore(file);
  const threads = createSearchThreads(file);
  const query = { ...ANY, q: `"${'a b '.repeat(40)} b"`, limit: 5 };
  const asked = [1, 2, 3].map(() => threads.listSignals('ten_a', query));
  const ends = Promise.allSettled([...asked, threads.countSignals('ten_a', query, 50)]);
  await threads.close();
  for (const end of await ends)
    expect(end).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
  await expect(threads.listSignals('ten_a', query)).rejects.toThrow('The server is stopping');
});

test('uses another thread for phrases, and for signals by how they were triaged if many are to be skipped', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await filledStore(file);
  const db = new Sqlite(file);
  onTestFinished(() => void db.close());
  const test = createLongSearchTest(db);
  const isLong = (tenantId: string, query: Partial<SignalQuery>) => test(tenantId, { ...ANY, ...query });
  const triaged = (state: 'open' | 'done' | 'all', assignee: string | null = null) =>
    isLong('ten_a', { q: null, triage: { state, assignee, now: T0 } });
  const ofAll = () => [
    triaged('all'),
    triaged('open'),
    triaged('done'),
    triaged('open', 'ida@acme.example'),
    triaged('all', 'ida@acme.example'),
  ];
  expect(ofAll()).toEqual([false, false, true, true, true]);
  expect(['crm', 'crm tool', null].map((q) => isLong('ten_a', { q }))).toEqual([false, false, false]);
  expect(['"crm tool"', 'follow-up', 'x "a b c'].map((q) => isLong('ten_a', { q }))).toEqual([
    true,
    true,
    true,
  ]);

  const names = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`);
  expect([10, 11].map((count) => isLong('ten_a', { q: names(count).join(' ') }))).toEqual([false, true]);
  expect(isLong('ten_a', { platforms: names(9), q: 'crm tool' })).toBe(true);
  const addProfiles = (name: string, count: number) =>
    db.exec(
      `INSERT INTO icp_profiles (id, tenant_id, name, name_key, settings, active, created_at, deleted_at)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
       SELECT '${name}' || i, 'ten_a', '${name}', '${name}', '{}', 1, i, i FROM n`,
    );
  addProfiles('few', 10);
  addProfiles('many', 11);
  expect(['few', 'many'].map((name) => isLong('ten_a', { q: null, icps: [name] }))).toEqual([false, true]);

  const ofPost = (query: Partial<SignalQuery>) => isLong('ten_a', { externalId: 'x', ...query });
  expect([{}, { q: 'crm' }, { platforms: ['reddit'] }, { minScore: 50 }].map(ofPost)).toEqual([
    false,
    true,
    true,
    true,
  ]);

  db.pragma('foreign_keys = OFF');
  const fill = (from: number, state: string) =>
    db.exec(
      `INSERT INTO signal_triage (seq, tenant_id, is_lead, snoozed_until)
       WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${from} + 1000)
       SELECT i, 'ten_a', ${state} FROM n`,
    );
  fill(1, '1, NULL');
  expect(triaged('open')).toBe(false);
  fill(2_001, '0, 1');
  expect(triaged('open')).toBe(true);
});

test('uses another thread for a search whose terms in all signals take long to read, above all in order of score', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await filledStore(file);
  const db = new Sqlite(file);
  onTestFinished(() => void db.close());
  const test = createLongSearchTest(db);
  const bound = createListingBound(db);
  const words = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`).join(' ');
  const stored = (signals: number, asked: Partial<SignalQuery>[]) => {
    db.exec(`UPDATE stored_rows SET signals = ${signals}`);
    return asked.map((query) => test('ten_a', { ...ANY, ...query }));
  };
  const filters: Partial<SignalQuery>[] = [
    { q: 'crm' },
    { platforms: ['reddit'] },
    { signalTypes: ['review'] },
    { classifications: ['hot'] },
    { companyDomains: ['acme.example'] },
  ];
  const scored = filters.map((query): Partial<SignalQuery> => ({ ...query, sort: '-icp_score' }));
  expect(stored(15_000, scored)).toEqual(scored.map(() => false));
  expect(stored(16_000, scored)).toEqual(scored.map(() => true));
  expect(stored(500_000, filters)).toEqual(filters.map(() => false));
  expect(stored(700_000, filters)).toEqual(filters.map(() => true));
  expect(stored(2_000_000, [{}, { sort: '-icp_score' }])).toEqual([false, false]);
  expect(stored(2_000_000, [{ minScore: 5 }, { minScore: 5, sort: '-icp_score' }])).toEqual([true, false]);
  const ofPost = { externalId: 'a' };
  expect(stored(1_000, [ofPost, { ...ofPost, sort: '-icp_score' }])).toEqual([false, true]);

  // Terms add up, and a word that is only begun stands for many.
  const tenWords: Partial<SignalQuery> = { q: words(7), platforms: ['x'], classifications: ['hot', 'warm'] };
  expect(stored(1_500, [{ ...tenWords, sort: '-icp_score' }])).toEqual([false]);
  expect(stored(1_600, [{ ...tenWords, sort: '-icp_score' }])).toEqual([true]);
  expect(stored(70_000, [tenWords, { q: 'crm' }, { q: 'crm', qBegins: true }])).toEqual([true, false, true]);
  expect(stored(70_000, [{ minScore: 90 }, { minScore: 0 }, { minScore: 10 }])).toEqual([false, false, true]);
  expect(bound('ten_a', { ...ANY, sort: '-icp_score', from: T0 })).toBeLessThan(50);
  expect(bound('ten_a', { ...ANY, sort: '-icp_score', from: T0, q: words(9) })).toBeGreaterThan(2_000);
});
