import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createSuggester } from '../../src/signals/suggestions.ts';
import type { Store } from '../../src/store/store.ts';
import { aSignal, aTenant, openTestStore, T0 } from '../support/store.ts';

const WIRE = {
  signal_type: 'intent_post',
  timestamp: '2026-11-22T00:00:00.000Z',
  prospect: { name: 'Jo', title: '', email: '', linkedin_url: '' },
  company: { name: '', domain: '', industry: '', headcount: '', location: '' },
  platform: { name: 'reddit', post_url: '', posted_at: '' },
};

/** A tenant whose first profile has this many judged signals, every other one relevant. */
async function openJudged(count: number, textOf: (i: number) => string) {
  const { store } = await openTestStore();
  const { profile, ...account } = aTenant('ten_a');
  await store.createTenant({ profile: { ...profile, phrases: ['depot scanner'] }, ...account });
  let reads = 0;
  const counted: Store = {
    ...store,
    getSignal(tenantId, id) {
      reads++;
      return store.getSignal(tenantId, id);
    },
  };
  const judge = (i: number, relevant: boolean, createdAt: number) =>
    store.saveFeedback({
      ...{ tenantId: 'ten_a', signalId: `sig_${i}`, reason: '', actorId: 'key_1' },
      ...{ relevant, createdAt },
    });
  for (let i = 0; i < count; i++) {
    const wire = JSON.stringify({ ...WIRE, signal_id: `sig_${i}` });
    const signal = { id: `sig_${i}`, profileId: profile.id, text: textOf(i), wire, timestamp: T0 + i };
    await store.commitSignals([aSignal('ten_a', signal)]);
    await judge(i, i % 2 === 0, T0);
  }
  const [stored] = await store.listProfiles('ten_a');
  if (stored === undefined) throw new Error('no profile');
  return { store: counted, judge, profile: stored, readsSoFar: () => reads };
}

const ask = (i: number) => `We look for a depot scanner, number ${i}. Which one do you recommend?`;

test('suggestions are computed once for all concurrent callers, and again after new feedback', async () => {
  const { store, profile, judge, readsSoFar } = await openJudged(4, ask);
  const suggester = createSuggester(store, systemClock);
  const [first, second] = await Promise.all([suggester.suggest(profile), suggester.suggest(profile)]);
  expect(second).toBe(first);
  expect(await suggester.suggest(profile)).toBe(first);
  expect(readsSoFar()).toBe(4);
  await judge(1, true, T0 + 1);
  await suggester.suggest(profile);
  expect(readsSoFar()).toBe(8);
  await suggester.suggest({ ...profile, version: profile.version + 1 });
  expect(readsSoFar()).toBe(12);
});

test('a failure to read is not cached', async () => {
  const { store, profile } = await openJudged(1, ask);
  let fails = true;
  const broken: Store = {
    ...store,
    getSignal: (tenantId, id) => (fails ? Promise.reject(new Error('disk')) : store.getSignal(tenantId, id)),
  };
  const suggester = createSuggester(broken, systemClock);
  await expect(suggester.suggest(profile)).rejects.toThrow('disk');
  fails = false;
  expect(await suggester.suggest(profile)).toEqual([]);
});

test('callers beyond the maximum queue are asked to retry later', async () => {
  const { store, profile } = await openJudged(1, ask);
  const gates: (() => void)[] = [];
  const held: Store = {
    ...store,
    async getSignal(tenantId, id) {
      await new Promise<void>((resolve) => gates.push(resolve));
      return store.getSignal(tenantId, id);
    },
  };
  const suggester = createSuggester(held, systemClock);
  const asked = Array.from({ length: 18 }, (_, version) => suggester.suggest({ ...profile, version }));
  await expect(asked.at(-1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const others = Promise.all(asked.slice(0, -1));
  for (let turn = 0; turn < 200; turn++) {
    gates.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await others).toHaveLength(17);
});

test('suggestions of one tenant do not wait for those of others', async () => {
  const { store, profile } = await openJudged(4, ask);
  const held: Store = {
    ...store,
    listJudgements: (_tenantId, profileId, limit) => store.listJudgements('ten_a', profileId, limit),
    getSignal: (tenantId, id) =>
      tenantId === 'ten_a' ? store.getSignal(tenantId, id) : new Promise(() => {}),
  };
  const suggester = createSuggester(held, systemClock);
  for (let i = 0; i < 18; i++) void suggester.suggest({ ...profile, id: `icp_${i}`, tenantId: `ten_${i}` });
  for (let i = 0; i < 17; i++) void suggester.suggest({ ...profile, version: i, tenantId: 'ten_b' });
  expect(await suggester.suggest(profile)).toBeInstanceOf(Array);
});

test('of the profiles with many long posts, only the posts of one are in memory, and tenants take turns', async () => {
  const { store, profile } = await openJudged(200, (i) => ask(i).padEnd(19_990, ' scanner depot'));
  const reads = new Map<string, number>();
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const counted: Store = {
    ...store,
    async getSignal(tenantId, id) {
      const read = (reads.get(tenantId) ?? 0) + 1;
      reads.set(tenantId, read);
      if (tenantId === 'ten_b' && read > 150) await gate;
      return store.getSignal('ten_a', id);
    },
    listJudgements: (_tenantId, profileId, limit) => store.listJudgements('ten_a', profileId, limit),
  };
  const suggester = createSuggester(counted, systemClock);
  const first = suggester.suggest({ ...profile, tenantId: 'ten_b', id: profile.id });
  await expect.poll(() => reads.get('ten_b')).toBe(151);
  const second = suggester.suggest({ ...profile, tenantId: 'ten_c', version: 2 });
  await expect.poll(() => reads.get('ten_c')).toBe(101);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(reads.get('ten_c')).toBe(101);
  release();
  await Promise.all([first, second]);
  expect(reads.get('ten_c')).toBe(200);
}, 60_000);

test('computing suggestions from 500 very long posts yields to other work', async () => {
  const words = Array.from({ length: 2_400 }, (_, i) => `word${i}`).join(' ');
  const { store, profile } = await openJudged(500, (i) =>
    `${ask(i)} ${i} ${words.slice((i * 37) % 5_000)}`.padEnd(19_990, ' scanner depot'),
  );
  const suggester = createSuggester(store, systemClock);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const found = await suggester.suggest(profile);
  delay.disable();
  expect(found.length).toBeLessThan(100);
  // A single chunk took 4 s; 10 ms are usual.
  expect(delay.max / 1e6).toBeLessThan(250);
}, 60_000);
