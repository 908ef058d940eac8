import { describe, expect, test } from 'vitest';
import { defaultProfile } from '../../../src/model/icp.ts';
import type { DigestChange } from '../../../src/store/mail-store.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const DAY_MS = 86_400_000;
const DAILY = { frequency: 'daily' as const, icp_profile_ids: [] };

function aDigest(overrides: Partial<DigestChange> = {}): DigestChange {
  const told = { id: 'evt_d', tenantId: 'ten_a', subjectId: 'ten_a', data: '{}', createdAt: T0 };
  const event = { ...told, type: 'digest.ready' } as const;
  return {
    tenantId: 'ten_a',
    expectedDueAt: T0 + 5,
    nextDueAt: T0 + DAY_MS,
    since: T0 + 6,
    position: 6,
    madeAt: T0 + 6,
    event: {
      event,
      deliveries: [{ id: 'dlv_d', endpointId: 'whk_a', body: '{}', status: 'pending' }],
      batched: [],
      skipped: [],
    },
    mails: [
      {
        ...{ id: 'mal_d', tenantId: 'ten_a', createdAt: T0 },
        facts: { kind: 'message', subject: 'Digest', text: '' },
      },
    ],
    ...overrides,
  };
}

export function describeDigests(open: OpenStore): void {
  describe('settings and digests', () => {
    test('a tenant has settings from the start, and stores changes to them', async () => {
      const { store } = await openWithTenants(open);
      const first = await store.getSettings('ten_a');
      expect(first).toEqual({
        ...{ tenantId: 'ten_a', timezone: 'UTC', digest: { ...DAILY, enabled: true, hour: 8 } },
        ...{ digestDueAt: 0, digestSince: T0, digestPosition: 0, digestMadeAt: null },
      });
      const changed = {
        ...{
          tenantId: 'ten_a',
          timezone: 'Asia/Tokyo',
          digest: { enabled: false, hour: 23, frequency: 'weekly' as const, icp_profile_ids: ['icp_a'] },
        },
        ...{ digestDueAt: T0 + 7, digestSince: null, digestPosition: 3 },
      };
      expect(await store.saveSettings(changed)).toBe(true);
      expect(await store.getSettings('ten_a')).toEqual({ ...changed, digestMadeAt: null });
      expect(await store.saveSettings({ ...changed, tenantId: 'ten_none' })).toBe(false);
      expect(await store.getSettings('ten_none')).toBeNull();
      expect(await store.getSettings('ten_b')).toEqual({ ...first, tenantId: 'ten_b' });
    });

    test('enabled digests are due once their time has come, longest due first', async () => {
      const { store } = await openWithTenants(open);
      const save = (tenantId: string, digestDueAt: number, enabled = true) =>
        store.saveSettings({
          ...{ tenantId, timezone: 'UTC', digest: { ...DAILY, enabled, hour: 8 } },
          ...{ digestDueAt, digestSince: T0, digestPosition: 0 },
        });
      await save('ten_a', T0 + 5);
      await save('ten_b', T0 + 4);
      const due = async (now: number) => (await store.dueDigests(now, 10)).map(({ tenantId }) => tenantId);
      expect(await due(T0 + 3)).toEqual([]);
      expect(await due(T0 + 5)).toEqual(['ten_b', 'ten_a']);
      expect(await store.dueDigests(T0 + 5, 1)).toHaveLength(1);
      await save('ten_b', T0 + 4, false);
      expect(await due(T0 + 5)).toEqual(['ten_a']);
    });

    test('only one of two processes creates the same digest, with its event, delivery and mail', async () => {
      const { store } = await openWithTenants(open);
      const settings = await store.getSettings('ten_a');
      if (settings === null) throw new Error('no settings');
      await store.saveSettings({ ...settings, digestDueAt: T0 + 5 });
      expect(await store.commitDigest(aDigest())).toBe(true);
      expect(await store.commitDigest(aDigest())).toBe(false);
      expect(await store.getSettings('ten_a')).toMatchObject({
        ...{ digestDueAt: T0 + DAY_MS, digestSince: T0 + 6, digestPosition: 6, digestMadeAt: T0 + 6 },
      });
      expect(await store.listMail('ten_a', 10)).toHaveLength(1);
      expect((await store.getDelivery('ten_a', 'dlv_d'))?.status).toBe('pending');
      const quiet = aDigest({
        expectedDueAt: T0 + DAY_MS,
        madeAt: null,
        event: null,
        mails: [],
        since: T0 + 9,
      });
      expect(await store.commitDigest(quiet)).toBe(true);
      expect(await store.getSettings('ten_a')).toMatchObject({ digestSince: T0 + 9, digestMadeAt: T0 + 6 });
    });

    test('optionally excludes rated signals, signals with a lead, and other profiles', async () => {
      const { store } = await openWithTenants(open);
      const at = (id: string, profileId = 'icp_ten_a') =>
        aSignal('ten_a', { id, profileId, classification: 'hot', score: 80 });
      await store.createProfile({ ...defaultProfile('icp_b', 'ten_a', T0), name: 'B' }, 10);
      await store.commitSignals([at('sig_judged'), at('sig_left'), at('sig_other', 'icp_b')]);
      const judged = { tenantId: 'ten_a', signalId: 'sig_judged', relevant: false, reason: '' };
      await store.saveFeedback({ ...judged, actorId: 'key_a', createdAt: T0 });
      const found = async (more: object) => {
        const { hot, wires } = await store.findBest('ten_a', { after: 0, from: 0, limit: 10, ...more });
        return [hot, wires.length];
      };
      expect(await found({})).toEqual([3, 3]);
      expect(await found({ isUntouched: true })).toEqual([2, 2]);
      expect(await found({ isUntouched: true, profileIds: ['icp_b'] })).toEqual([1, 1]);
    });

    test('finds hot and warm signals stored after a position, best first, regardless of time', async () => {
      const { store } = await openWithTenants(open);
      const at = (id: string, timestamp: number, classification: string, score: number, tenantId = 'ten_a') =>
        aSignal(tenantId, { id, timestamp, classification, score });
      await store.commitSignals([at('sig_before', T0 + 9, 'hot', 99)]);
      const { position: after } = await store.findBest('ten_a', { after: 0, from: 0, limit: 10 });
      await store.commitSignals([
        at('sig_warm', T0 + 1, 'warm', 50),
        at('sig_cold', T0, 'cold', 10),
        at('sig_hot', T0 + 2, 'hot', 90),
        at('sig_hot2', T0 + 2, 'hot', 80),
        at('sig_old', T0 - 1, 'hot', 99),
        at('sig_other', T0 + 1, 'hot', 99, 'ten_b'),
      ]);
      const range = { after, from: T0, limit: 10 };
      const { position, ...found } = await store.findBest('ten_a', range);
      expect({ ...found, wires: found.wires.map((wire) => JSON.parse(wire).signal_id) }).toEqual({
        ...{ oldest: T0 + 1, hot: 2, warm: 1, wires: ['sig_hot', 'sig_hot2', 'sig_warm'] },
      });
      expect((await store.findBest('ten_a', { ...range, limit: 1 })).wires).toHaveLength(1);
      expect(await store.findBest('ten_a', { ...range, after: position })).toEqual({
        ...{ position, oldest: null, hot: 0, warm: 0, wires: [] },
      });
    });
  });
}
