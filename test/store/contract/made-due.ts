import { describe, expect, test } from 'vitest';
import type { MadeDue } from '../../../src/store/store.ts';
import { aSource } from '../../support/sources.ts';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const LANE = { endpointId: 'whk_a', tenantId: 'ten_a' };

async function openAndListen(open: OpenStore) {
  const { store } = await openWithTenants(open);
  const told: MadeDue[] = [];
  store.onCommitted((made) => void told.push(made));
  return { store, told: () => told.splice(0) };
}

const due = (...lanes: MadeDue['due']): MadeDue => ({ due: lanes, endpoints: [], sources: false });
const changed = (...endpoints: string[]): MadeDue => ({ due: [], endpoints, sources: false });

export function describeMadeDue(open: OpenStore): void {
  describe('what a commit makes due', () => {
    test('is announced before the change resolves, and not for changes without effect', async () => {
      const { store, told } = await openAndListen(open);
      const post = () =>
        aSignal('ten_a', { externalId: 'post-1', events: [aRoutedEvent('ten_a', ['whk_a'])] });
      const before: MadeDue[] = [];
      await store.commitSignals([post()]).then(() => before.push(...told()));
      expect(before).toEqual([due(LANE)]);
      expect(await store.commitSignals([post()])).toMatchObject([{ status: 'duplicate' }]);
      expect(await store.pauseEndpoint('ten_a', 'whk_unknown', T0)).toBe(false);
      expect(told()).toEqual([]);
    });

    test('lists rejected deliveries separately, and omits pulled and reserved ones', async () => {
      const { store, told } = await openAndListen(open);
      for (const id of ['whk_c', 'whk_d', 'whk_e']) {
        await store.createEndpoint(anEndpoint('ten_a', { id }), null);
      }
      const events = [aRoutedEvent('ten_a', ['whk_a', 'whk_c', 'whk_d', 'whk_e'])];
      const [taken, large, read] = events[0]?.deliveries ?? [];
      if (!taken || !large || !read) throw new Error('it has four deliveries');
      large.status = 'rejected';
      read.status = 'delivered';
      await store.commitSignalsInHand([aSignal('ten_a', { events })], {
        lanes: [{ endpointId: 'whk_a', knownVersion: 1, deliveryIds: [taken.id] }],
        ...{ now: T0, renewBefore: T0 + 60_000, leaseUntil: T0 + 75_000, leaseToken: 'lease_1' },
      });
      expect(told()).toEqual([
        due({ ...LANE, endpointId: 'whk_c', rejected: true }, { ...LANE, endpointId: 'whk_e' }),
      ]);
    });

    test('is announced once for changes by an actor and by a keyed request', async () => {
      const { store, told } = await openAndListen(open);
      const pause = () => store.pauseEndpoint('ten_a', 'whk_a', T0);
      await store.as({ tenantId: 'ten_a', actor: 'usr_1' }, pause);
      expect(told()).toEqual([changed('whk_a')]);

      const request = { tenantId: 'ten_a', route: 'POST /v1/signals', key: 'k', fingerprint: 'f' };
      const first = await store.reserveKey(request, { token: 't', now: T0, expiresAt: T0 + 60_000 });
      if (first.state !== 'held') throw new Error('the key is free');
      const signals = [aSignal('ten_a', { events: [aRoutedEvent('ten_a', ['whk_a'])] })];
      await store.keeping(first.held).commitSignals(signals);
      expect(told()).toEqual([due(LANE)]);

      await store.releaseKey(request, 't');
      const again = await store.reserveKey(request, { token: 'u', now: T0, expiresAt: T0 + 60_000 });
      if (again.state !== 'held') throw new Error('the key is free again');
      expect(await store.keeping(again.held).commitSignals(signals)).toMatchObject([{ status: 'created' }]);
      expect(told()).toEqual([]);
    });

    test('is announced once per commit, for all changes that succeed', async () => {
      const { store, told } = await openAndListen(open);
      const event = aRoutedEvent('ten_a', ['whk_a']);
      await Promise.all([
        store.pauseEndpoint('ten_a', 'whk_a', T0),
        store.createSource(aSource(), 10),
        store.commitSignals([aSignal('ten_a', { events: [event] })]),
        store.commitSignals([aSignal('ten_a', { events: [event] })]).catch(() => 'no two events share an id'),
      ]);
      expect(told()).toEqual([{ due: [LANE], endpoints: ['whk_a'], sources: true }]);
    });

    test('includes changed endpoints and the deliveries of resumed ones', async () => {
      const { store, told } = await openAndListen(open);
      const endpoint = await store.getEndpoint('ten_a', 'whk_a');
      if (endpoint === null) throw new Error('the endpoint is there');
      await store.updateEndpoint(endpoint, T0);
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      await store.resumeEndpoint({ tenantId: 'ten_a', id: 'whk_a', now: T0, endpointLimit: null, limit: 10 });
      await store.setPlan('ten_a', {
        ...{ plan: 'starter', trialEndsAt: null },
        terms: { endpoints: 0, maxRatePerMinute: 60, now: T0 },
      });
      await store.setPlan('ten_a', {
        ...{ plan: 'pro', trialEndsAt: null },
        terms: { endpoints: 1, maxRatePerMinute: 60, now: T0 },
      });
      await store.deleteEndpoint('ten_a', 'whk_a', T0);
      const resumed = { ...due(LANE), endpoints: ['whk_a'] };
      const [updated, paused, ended, removed] = Array.from({ length: 4 }, () => changed('whk_a'));
      expect(told()).toEqual([updated, paused, resumed, ended, resumed, removed]);
    });

    test('includes sources that are created, changed, run on request or deleted', async () => {
      const { store, told } = await openAndListen(open);
      const source = aSource();
      await store.createSource(source, 10);
      await store.changeSource({ ...source, version: source.version + 1 }, false);
      await store.runSource(source.tenantId, source.id, T0);
      await store.deleteSource(source.tenantId, source.id);
      expect(told()).toEqual(Array.from({ length: 4 }, () => ({ ...due(), sources: true })));
    });
  });
}
