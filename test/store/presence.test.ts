import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { startScriptText } from '../cli/process.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { aSource } from '../support/sources.ts';
import { aKey, anEndpoint, aRoutedEvent, aSignal, aTenant, openTestStore, T0 } from '../support/store.ts';
import { tempFolder } from './sqlite/temp-folder.ts';

const REQUEST = { tenantId: 'ten_a', route: 'POST /v1/keys', key: 'k1', fingerprint: 'f1' };
const terms = (token: string, now: number) => ({ token, now, expiresAt: now + 3_600_000 });
const LEASE_MS = 3_600_000;

async function claim(store: Store, leaseToken: string, now: number): Promise<string[]> {
  const lanes = [{ endpointId: 'whk_a', limit: 5, knownVersion: 1, held: [] }];
  const [lane] = await store.claimDeliveries({ lanes, now, leaseUntil: now + LEASE_MS, leaseToken });
  return lane?.deliveries.map(({ id }) => id) ?? [];
}

async function read(store: Store, token: string, now: number): Promise<string[]> {
  const claimed = await store.claimSources({ now, leaseUntil: now + LEASE_MS, ids: ['src_1'], token });
  return claimed.map(({ source }) => source.id);
}

/** A store in a file with a due delivery and a due source. */
async function openWithWork(file: string, now: number) {
  const clock = createManualClock(now);
  const { store } = await openTestStore({ clock, file });
  await store.createTenant(aTenant('ten_a'));
  await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
  await store.createSource(aSource({ id: 'src_1', tenantId: 'ten_a', nextPollAt: now }), 10);
  const events = [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'], createdAt: now })];
  await store.commitSignals([aSignal('ten_a', { events })]);
  return { store, clock };
}

/** What a process recovers from dead processes at start-up or periodically, and what it then gets. */
async function takeUp(store: Store, now: number) {
  await store.recoverDeliveries({ own: false });
  const sources = await store.recoverSources({ own: false, now });
  return {
    deliveries: await claim(store, `lease_${now}`, now),
    sources,
    key: (await store.reserveKey(REQUEST, terms(`t_${now}`, now))).state,
  };
}

const NOTHING = { deliveries: [], sources: [], key: 'running' };
const ALL = { deliveries: ['dlv_1'], sources: ['src_1'], key: 'held' };

/** A separate process that holds the delivery, the source and the key of a request until it is killed. */
async function startHolder(file: string) {
  const path = (name: string) => JSON.stringify(join(process.cwd(), name));
  const holder = startScriptText(`
    const { openSqliteStore } = await import(${path('src/store/sqlite/open.ts')});
    const { systemClock } = await import(${path('src/lib/clock.ts')});
    const store = await openSqliteStore({ file: ${JSON.stringify(file)}, clock: systemClock });
    const now = Date.now();
    const lanes = [{ endpointId: 'whk_a', limit: 5, knownVersion: 1, held: [] }];
    await store.claimDeliveries({ lanes, now, leaseUntil: now + ${LEASE_MS}, leaseToken: 'lease_1' });
    await store.claimSources({ now, leaseUntil: now + ${LEASE_MS}, ids: ['src_1'], token: 'run_1' });
    await store.reserveKey(${JSON.stringify(REQUEST)}, { token: 't1', now, expiresAt: now + ${LEASE_MS} });
    console.log('holding');
    setInterval(() => store, 1_000);`);
  await holder.said(/holding/);
  return holder;
}

test('what a killed process held stays leased while it may be alive, and is free afterwards', async () => {
  const file = join(tempFolder(), 'store.db');
  const { store, clock } = await openWithWork(file, Date.now());
  onTestFinished(() => store.close());
  await using holder = await startHolder(file);
  clock.stepWall(Date.now() - clock.now());
  expect(await store.countOthers()).toBe(1);
  expect(await takeUp(store, clock.now())).toEqual(NOTHING);
  holder.kill('SIGKILL');
  await holder.ended;
  expect(await takeUp(store, clock.now())).toEqual(NOTHING);
  clock.advance(30_000);
  expect(await store.countOthers()).toBe(0);
  expect(await takeUp(store, clock.now())).toEqual(ALL);
});

test('what a killed process held is free immediately for a process that starts alone', async () => {
  const file = join(tempFolder(), 'store.db');
  const { store: before } = await openWithWork(file, Date.now());
  await before.close();
  await using holder = await startHolder(file);
  holder.kill('SIGKILL');
  await holder.ended;
  const { store, clock } = await openTestStore({ clock: createManualClock(Date.now()), file });
  onTestFinished(() => store.close());
  expect(await takeUp(store, clock.now())).toEqual(ALL);
});

test('a start takes nothing from a live process, regardless of how long it lives', async () => {
  const file = join(tempFolder(), 'store.db');
  const { store: first, clock } = await openWithWork(file, T0);
  onTestFinished(() => first.close());
  expect(await claim(first, 'lease_1', T0)).toEqual(['dlv_1']);
  expect(await read(first, 'run_1', T0)).toEqual(['src_1']);
  await first.reserveKey(REQUEST, terms('t1', T0));
  const second = (await openTestStore({ clock, file })).store;
  onTestFinished(() => second.close());
  for (let beats = 0; beats < 12; beats++) {
    expect(await takeUp(second, clock.now())).toEqual(NOTHING);
    clock.advance(5_000);
    await first.probe(); // its heartbeat has been stored
  }
});

test('what a process held is free as soon as it ends: the next run gets its recorded steps', async () => {
  const file = join(tempFolder(), 'store.db');
  const { store: first, clock } = await openWithWork(file, T0);
  const { store: second } = await openTestStore({ clock, file });
  onTestFinished(() => second.close());
  const reserved = await first.reserveKey(REQUEST, terms('t1', T0));
  if (reserved.state !== 'held') throw new Error(reserved.state);
  await first.keeping(reserved.held).createKey(aKey('ten_a', { id: 'key_1' }), 100);
  expect(await second.reserveKey(REQUEST, terms('t2', T0))).toEqual({ state: 'running' });
  await first.close();
  expect(await second.countOthers()).toBe(0);
  expect(await second.reserveKey(REQUEST, terms('t3', T0))).toMatchObject({
    state: 'held',
    held: { token: 't3', seed: 't1', steps: [{ name: 'createKey', result: true }] },
  });
});

test('a heartbeat in the future means that the clock was set back, and counts only for a limited time', async () => {
  const file = join(tempFolder(), 'store.db');
  const { store: first } = await openWithWork(file, T0);
  onTestFinished(() => first.close());
  await claim(first, 'lease_1', T0);
  const countAt = async (now: number) => {
    const { store } = await openTestStore({ clock: createManualClock(now), file });
    const others = await store.countOthers();
    await store.close();
    return others;
  };
  expect([await countAt(T0 - 10_000), await countAt(T0 - 30_000)]).toEqual([1, 0]);
});
