import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mailText } from '../../../src/accounts/compose-mail.ts';
import type { Store } from '../../../src/store/store.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aRun, aSource } from '../../support/sources.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, openTestStore, T0 } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const LEASE_MS = 75_000;

/** Two stores on one file, like two processes, with a delivery and a source held by the first one. */
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
  await first.recoverSources({ own: true, now: T0 });
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

async function read(store: Store, token: string, now = T0): Promise<string[]> {
  const claimed = await store.claimSources({ now, leaseUntil: now + LEASE_MS, ids: ['src_1'], token });
  return claimed.map(({ source }) => source.id);
}

test('a second process takes nothing from a live one when it starts', async () => {
  const { first, second } = await twoStores();
  onTestFinished(() => first.close());
  await second.recoverDeliveries({ own: true });
  expect(await second.recoverSources({ own: true, now: T0 })).toEqual([]);
  expect([await claim(second, 'lease_2'), await read(second, 'run_2')]).toEqual([[], []]);
});

test('what a process held is free for others once it ends', async () => {
  const { first, second } = await twoStores();
  await first.close();
  await second.recoverDeliveries({ own: false });
  expect(await claim(second, 'lease_2')).toEqual(['dlv_1']);
  expect(await second.recoverSources({ own: false, now: T0 })).toEqual(['src_1']);
  expect(await second.recoverSources({ own: false, now: T0 })).toEqual([]);
  expect(await read(second, 'run_2', T0 + 60_000)).toEqual(['src_1']);
});

test('a source whose process ends during a run backs off, and is paused the third time', async () => {
  const { first, file } = await twoStores();
  await first.close();
  const after = async (now: number) => {
    const { store } = await openTestStore({ clock: createManualClock(now), file });
    await store.recoverSources({ own: true, now });
    const tooEarly = await read(store, `early_${now}`, now);
    const source = await store.getSource('ten_a', 'src_1');
    const due = source?.nextPollAt ?? 0;
    if (source?.status === 'active') await read(store, `run_${now}`, due);
    const mail = await store.listMail('ten_a', 10);
    await store.close();
    return { tooEarly, due, source, mail };
  };
  const once = await after(T0 + 1_000);
  expect(once).toMatchObject({
    tooEarly: [],
    due: T0 + 61_000,
    source: { status: 'active', failures: 1, lastError: { code: 'process_ended' } },
  });
  const twice = await after(once.due);
  expect(twice).toMatchObject({ tooEarly: [], due: once.due + 30 * 60_000, source: { status: 'active' } });
  expect([once.mail, twice.mail]).toEqual([[], []]);
  const { source, mail } = await after(twice.due);
  expect(source).toMatchObject({ status: 'paused', version: 2 });
  expect(source?.lastError?.message).toContain('3 times in a row. It is paused; resume it');
  expect(mail.map(({ facts }) => facts)).toEqual([
    { kind: 'source_paused', sourceId: 'src_1', name: source?.name, message: source?.lastError?.message },
  ]);
  const { subject, text } = mailText(
    mail[0]?.facts ?? { kind: 'message', subject: '', text: '' },
    'https://s.example.com',
  );
  expect(subject).toBe(`Source paused: ${source?.name}`);
  expect(text).toContain('https://s.example.com/dashboard/sources/src_1');
  expect((await after(twice.due + 1)).mail).toHaveLength(1);
});

test('a run that ends with any result resets the count of interrupted runs', async () => {
  const { first, second } = await twoStores();
  await first.close();
  await second.recoverSources({ own: true, now: T0 });
  const [claimed] = await second.claimSources({
    now: T0 + 60_000,
    leaseUntil: T0 + 120_000,
    ids: ['src_1'],
    token: 'run_2',
  });
  if (claimed === undefined) throw new Error('not due');
  await second.finishSourceRun(aRun(claimed));
  expect((await second.getSource('ten_a', 'src_1'))?.lastError).toBeNull();
});
