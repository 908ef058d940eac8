import { beforeEach, describe, expect, test } from 'vitest';
import { createFeedbackLinks } from '../../src/accounts/links.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { idFloor } from '../../src/lib/ids.ts';
import { createPeriodic } from '../../src/lib/periodic.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { Store } from '../../src/store/store.ts';
import {
  expireDeliveries,
  forgetOld,
  housekeepingJobs,
  storeRemainders,
} from '../../src/webhooks/housekeeping.ts';
import { addDeliveries, anOutcome } from '../store/contract/claiming.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { aSource } from '../support/sources.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, openTestStore, T0 } from '../support/store.ts';

const DAY_MS = 86_400_000;

let store: Store;
let clock: ManualClock;
beforeEach(async () => {
  ({ store, clock } = await openTestStore());
  await store.createTenant(aTenant('ten_a'));
  await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
});

const statusOf = async (id: string) => (await store.getDelivery('ten_a', id))?.status ?? null;
const ids = (count: number) => Array.from({ length: count }, (_, i) => `dlv_${String(i).padStart(5, '0')}`);

describe('deliveries over time', () => {
  test('that are held for 7 days become dead letters, and expire after 7 more', async () => {
    await addDeliveries(store, 'whk_a', ['dlv_1']);
    await store.pauseEndpoint('ten_a', 'whk_a', T0);
    clock.advance(7 * DAY_MS - 1);
    await expireDeliveries({ store, clock });
    expect(await statusOf('dlv_1')).toBe('held');
    clock.advance(1);
    await expireDeliveries({ store, clock });
    expect(await statusOf('dlv_1')).toBe('dead');
    clock.advance(7 * DAY_MS - 1);
    await expireDeliveries({ store, clock });
    expect(await statusOf('dlv_1')).toBe('dead');
    clock.advance(1);
    await expireDeliveries({ store, clock });
    expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({ status: 'expired', body: null });
  });

  test('are processed in commits of 500', async () => {
    await addDeliveries(store, 'whk_a', ids(1_203));
    await store.pauseEndpoint('ten_a', 'whk_a', T0);
    clock.advance(7 * DAY_MS);
    const counts: number[] = [];
    const watched: Store = {
      ...store,
      async endHeld(chunk) {
        const count = await store.endHeld(chunk);
        counts.push(count);
        return count;
      },
    };
    await expireDeliveries({ store: watched, clock });
    expect(counts).toEqual([500, 500, 203]);
  });

  test('to a deleted endpoint are discarded', async () => {
    await addDeliveries(store, 'whk_a', ids(1_600));
    await store.deleteEndpoint('ten_a', 'whk_a', T0);
    await expireDeliveries({ store, clock });
    expect(await store.discardOfDeleted(10)).toBe(0);
  });

  test('stop being processed when the process stops, and continue after the next start', async () => {
    await addDeliveries(store, 'whk_a', ids(1_100));
    await store.pauseEndpoint('ten_a', 'whk_a', T0);
    clock.advance(7 * DAY_MS);
    let looks = 0;
    await expireDeliveries({ store, clock }, () => looks++ > 0);
    expect(await statusOf('dlv_00499')).toBe('dead');
    expect(await statusOf('dlv_00500')).toBe('held');
    await expireDeliveries({ store, clock });
    expect(await statusOf('dlv_01099')).toBe('dead');
  });

  test('are deleted with their attempts after 30 days, and then their deleted endpoint', async () => {
    await addDeliveries(store, 'whk_a', ['dlv_1']);
    await store.recordOutcome(
      anOutcome({ next: { status: 'delivered' } }, { id: `${idFloor('att', T0)}x`, startedAt: T0 }),
    );
    await store.recordTestSend({ id: 'dlv_t', endpointId: 'whk_a', startedAt: T0 });
    await store.deleteEndpoint('ten_a', 'whk_a', T0);
    const wire = JSON.stringify({ prospect: {}, platform: { name: 'x', posted_at: '' } });
    await store.commitSignals([aSignal('ten_a', { nearKeys: [1, 2], wire })]);
    await expireDeliveries({ store, clock });
    clock.advance(30 * DAY_MS);
    await forgetOld({ store, clock });
    expect((await store.getDelivery('ten_a', 'dlv_1'))?.attempts).toHaveLength(1);
    clock.advance(1);
    await forgetOld({ store, clock });
    expect(await store.getDelivery('ten_a', 'dlv_1')).toBeNull();
    expect(await store.pruneEndpoints(Number.MAX_SAFE_INTEGER, 10)).toBe(0); // gone already
    expect(await store.pruneTestSends(Number.MAX_SAFE_INTEGER)).toBe(0);
    expect(await store.pruneNearKeys(T0 + 1, 10)).toBe(0);
  });
});

test('what is left of deleted sources is removed', async () => {
  for (const id of ['src_1', 'src_2']) {
    await store.createSource(aSource({ id }), 10);
    await store.deleteSource('ten_a', id);
  }
  await forgetOld({ store, clock });
  expect(await store.pruneSources(1)).toBe(false);
});

test('pauses of hosts are deleted once they are over', async () => {
  for (let n = 0; n < 501; n++) await store.holdHost({ host: `${n}.example`, scope: '', until: T0 + 1 });
  const longer = { host: 'longer.example', scope: '/search', until: T0 + 2 };
  await store.holdHost(longer);
  clock.advance(1);
  await forgetOld({ store, clock });
  expect(await store.hostHolds(0)).toEqual([longer]);
});

test('deliveries of an event that an ended process left are stored', async () => {
  const event = aRoutedEvent('ten_a', [], { id: 'evt_1' });
  const bundle = { body: '{}', status: 'pending' as const, deliveries: '["dlv_1","whk_a"]' };
  const terms = { now: T0, renewBefore: T0, leaseUntil: T0, leaseToken: 'lease_1' };
  const signal = aSignal('ten_a', {
    events: [{ ...event, remainders: [{ bundles: [bundle], batched: [] }] }],
  });
  await store.commitSignalsInHand([signal], { lanes: [], ...terms });
  expect(await statusOf('dlv_1')).toBeNull();
  await storeRemainders({ store });
  expect(await statusOf('dlv_1')).toBe('pending');
});

test('audit entries are kept for a year', async () => {
  const change = () => store.pauseEndpoint('ten_a', 'whk_a', clock.now());
  const audit = async () => {
    const query = { actor: null, action: null, from: null, to: null, limit: 10, after: null };
    return (await store.pageAudit('ten_a', query)).rows.map(({ at }) => (at - T0) / DAY_MS);
  };
  await store.as({ tenantId: 'ten_a', actor: 'usr_1' }, change);
  clock.advance(365 * DAY_MS);
  await store.as({ tenantId: 'ten_a', actor: 'usr_1' }, change);
  await forgetOld({ store, clock });
  expect(await audit()).toEqual([365, 0]);
  clock.advance(2 * DAY_MS);
  await forgetOld({ store, clock });
  expect(await audit()).toEqual([365]);
});

const linesOf = (of: Store) =>
  housekeepingJobs({
    ...{ store: of, clock, baseUrl: '', send: null, log: { info() {}, warn() {} } },
    feedbackLinks: createFeedbackLinks(createCursors(Buffer.alloc(32)), ''),
    secretBox: createSecretBox(Buffer.alloc(32), systemRandom),
    newId: (prefix) => prefix,
  });

test('notices do not wait for backfills, messages and mail that take long', async () => {
  const never = () => new Promise<never>(() => {});
  let looks = 0;
  const slow: Store = {
    ...store,
    listBackfills: never,
    listWaitingBatches: never,
    dueMail: never,
    listNoticeTenants: async () => {
      looks++;
      return [];
    },
  };
  for (const jobs of linesOf(slow)) createPeriodic({ clock, jobs, onError() {} }).start();
  for (let i = 0; i < 100 && looks < 2; i++) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(looks).toBe(2);
});

test('when a trial ends, the dispatcher is notified of the paused endpoints', async () => {
  await store.createTenant(aTenant('ten_t', { plan: 'trial', trialEndsAt: T0 + 10 }));
  await store.createEndpoint(anEndpoint('ten_t', { id: 'whk_1' }), null);
  await store.createEndpoint(anEndpoint('ten_t', { id: 'whk_2', createdAt: T0 + 1 }), null);
  const changed: string[] = [];
  store.onCommitted(({ endpoints }) => void changed.push(...endpoints));
  const jobs = linesOf(store).flat();
  const runTrials = () => jobs.find((job) => job.name === 'trials')?.run(() => false);
  await runTrials();
  expect(changed).toEqual([]);
  clock.advance(10);
  await runTrials();
  await runTrials();
  expect(changed).toEqual(['whk_2']);
  expect((await store.getTenant('ten_t'))?.plan).toBe('starter');
});
