import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aSource } from '../../support/sources.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, openTestStore, T0 } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const LEASE_MS = 75_000;

/** Two stores on one file, as two processes have it, and a delivery and a source that the first holds. */
async function twoStores() {
  const file = join(tempFolder(), 'store.db');
  const clock = createManualClock(T0);
  const open = async () => (await openTestStore({ clock, file })).store;
  const first = await open();
  await first.createTenant(aTenant('ten_a'));
  await first.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
  await first.createSource(aSource({ id: 'src_1', tenantId: 'ten_a', nextPollAt: T0 }), 10);
  const events = [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] })];
  await first.commitSignals([aSignal('ten_a', { events })]);
  await first.recoverDeliveries({ own: true });
  await first.recoverSources({ own: true });
  expect(await claim(first, 'lease_1')).toEqual(['dlv_1']);
  expect(await read(first, 'run_1')).toEqual(['src_1']);
  const second = await open();
  onTestFinished(() => second.close());
  return { first, second, file };
}

async function claim(store: Store, leaseToken: string): Promise<string[]> {
  const lanes = [{ endpointId: 'whk_a', limit: 5, knownVersion: 1, held: [] }];
  const [lane] = await store.claimDeliveries({ lanes, now: T0, leaseUntil: T0 + LEASE_MS, leaseToken });
  return lane?.deliveries.map(({ id }) => id) ?? [];
}

async function read(store: Store, token: string): Promise<string[]> {
  const claimed = await store.claimSources({ now: T0, leaseUntil: T0 + LEASE_MS, ids: ['src_1'], token });
  return claimed.map(({ source }) => source.id);
}

test('a second process that starts takes nothing from one that lives', async () => {
  const { first, second } = await twoStores();
  onTestFinished(() => first.close());
  await second.recoverDeliveries({ own: true });
  expect(await second.recoverSources({ own: true })).toEqual([]);
  expect([await claim(second, 'lease_2'), await read(second, 'run_2')]).toEqual([[], []]);
});

test('what a process held is free for one that looks after it is gone', async () => {
  const { first, second } = await twoStores();
  await first.close();
  await second.recoverDeliveries({ own: false });
  expect(await claim(second, 'lease_2')).toEqual(['dlv_1']);
  expect(await second.recoverSources({ own: false })).toEqual(['src_1']);
  expect(await second.recoverSources({ own: false })).toEqual([]);
  expect(await read(second, 'run_2')).toEqual(['src_1']);
});
