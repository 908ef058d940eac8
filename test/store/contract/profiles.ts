import { describe, expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../../src/model/icp.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { ANY, rowsOf } from './signal-list.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

function aProfile(id: string, overrides: Partial<IcpProfile> = {}): IcpProfile {
  return { ...defaultProfile(id, 'ten_a', T0), name: `Profile ${id}`, ...overrides };
}

export function describeProfiles(open: OpenStore): void {
  describe('profiles', () => {
    test('returns a profile as stored, to its tenant only', async () => {
      const { store } = await openWithTenants(open);
      const profile = aProfile('icp_1', {
        phrases: ['crm'],
        headcountRanges: [{ min: 1, max: null }],
        active: false,
      });
      expect(await store.createProfile(profile, 10)).toBe('created');
      expect(await store.getProfile('ten_a', 'icp_1')).toEqual(profile);
      expect(await store.getProfile('ten_b', 'icp_1')).toBeNull();
      expect((await store.listProfiles('ten_a')).map(({ id }) => id)).toEqual(['icp_1', 'icp_ten_a'].sort());
    });

    test('a name is unique per tenant, case-insensitive, even with concurrent requests', async () => {
      const { store } = await openWithTenants(open);
      const made = await Promise.all(
        ['ÉTÉ', 'été', 'Été'].map((name, i) => store.createProfile(aProfile(`icp_${i}`, { name }), 10)),
      );
      expect(made.sort()).toEqual(['created', 'name_taken', 'name_taken']);
      const elsewhere = { ...defaultProfile('icp_b2', 'ten_b', T0), name: 'été' };
      expect(await store.createProfile(elsewhere, 10)).toBe('created');
    });

    test('a tenant gets no more profiles than its limit', async () => {
      const { store } = await openWithTenants(open);
      const asked = [1, 2, 3].map((n) => store.createProfile(aProfile(`icp_${n}`), 3)); // one exists from the start
      expect((await Promise.all(asked)).sort()).toEqual(['created', 'created', 'full']);
    });

    test('a change applies only to the version it is based on', async () => {
      const { store } = await openWithTenants(open);
      await store.createProfile(aProfile('icp_1'), 10);
      const next = aProfile('icp_1', { name: 'Renamed', version: 2, updatedAt: T0 + 1 });
      expect(await store.changeProfile(next)).toBe('changed');
      expect(await store.changeProfile({ ...next, name: 'Late' })).toBe('stale');
      expect(await store.changeProfile({ ...next, tenantId: 'ten_b', version: 3 })).toBe('stale');
      expect(await store.getProfile('ten_a', 'icp_1')).toEqual(next);
    });

    test('a change cannot take the name of another profile, but can change the case of its own', async () => {
      const { store } = await openWithTenants(open);
      await store.createProfile(aProfile('icp_1'), 10);
      expect(await store.changeProfile(aProfile('icp_1', { name: 'DEFAULT', version: 2 }))).toBe(
        'name_taken',
      );
      expect(await store.changeProfile(aProfile('icp_1', { name: 'PROFILE icp_1', version: 2 }))).toBe(
        'changed',
      );
    });

    test('deleting a profile frees its name, and keeps its signals under its ID and name', async () => {
      const { store } = await openWithTenants(open);
      await store.createProfile(aProfile('icp_1'), 10);
      await store.commitSignals([aSignal('ten_a', { id: 'sig_1', profileId: 'icp_1' })]);
      const before = await store.countProfiles('ten_a');
      expect(await store.deleteProfile('ten_b', 'icp_1', T0)).toBe('missing');
      expect(await store.deleteProfile('ten_a', 'icp_1', T0)).toBe('deleted');
      expect(await store.countProfiles('ten_a')).toBe(before - 1);
      expect(await store.deleteProfile('ten_a', 'icp_1', T0)).toBe('missing');
      expect(await store.getProfile('ten_a', 'icp_1')).toBeNull();
      expect(await store.changeProfile(aProfile('icp_1', { version: 2 }))).toBe('stale');
      expect(await store.createProfile(aProfile('icp_2', { name: 'profile ICP_1' }), 10)).toBe('created');
      expect(await store.getSignal('ten_a', 'sig_1')).not.toBeNull();
      for (const icp of ['icp_1', 'Profile icp_1']) {
        expect(rowsOf(await store.listSignals('ten_a', { ...ANY, icps: [icp] }))).toHaveLength(1);
      }
    });

    test('the last profile remains, even if the last two are deleted concurrently', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.deleteProfile('ten_a', 'icp_ten_a', T0)).toBe('last');
      await store.createProfile(aProfile('icp_1'), 10);
      const both = ['icp_1', 'icp_ten_a'].map((id) => store.deleteProfile('ten_a', id, T0));
      expect(await Promise.all(both)).toEqual(['deleted', 'last']);
    });

    test('pages contain each profile once, including those created at the same time', async () => {
      const { store } = await openWithTenants(open);
      for (const n of [1, 2, 3, 4]) await store.createProfile(aProfile(`icp_${n}`), 10);
      const first = await store.pageProfiles('ten_a', { limit: 3, after: null });
      await store.createProfile(aProfile('icp_5', { createdAt: T0 + 1 }), 10);
      const second = await store.pageProfiles('ten_a', { limit: 3, after: first.last });
      expect(second.last).toBeNull();
      const ids = [...first.rows, ...second.rows].map((profile) => profile.id);
      expect(ids).toEqual(['icp_1', 'icp_2', 'icp_3', 'icp_4', 'icp_ten_a', 'icp_5']);
      const foreign = store.pageProfiles('ten_a', { limit: 3, after: ['x'] });
      await expect(foreign).rejects.toMatchObject({ code: 'INVALID_CURSOR' });
    });
  });

  describe('feedback on signals', () => {
    const said = {
      tenantId: 'ten_a',
      signalId: 'sig_1',
      relevant: true,
      reason: 'Called us',
      actorId: 'key_1',
      createdAt: T0,
    };

    test('stores the latest feedback', async () => {
      const { store } = await openWithTenants(open);
      await store.commitSignals([aSignal('ten_a', { id: 'sig_1' })]);
      expect(await store.saveFeedback(said)).toBe(true);
      expect(await store.getFeedback('ten_a', 'sig_1')).toEqual(said);
      const later = { ...said, relevant: false, reason: '', actorId: 'key_2', createdAt: T0 + 1 };
      expect(await store.saveFeedback(later)).toBe(true);
      expect(await store.getFeedback('ten_a', 'sig_1')).toEqual(later);
    });

    test('does not store feedback on a signal of another tenant', async () => {
      const { store } = await openWithTenants(open);
      await store.commitSignals([aSignal('ten_a', { id: 'sig_1' })]);
      expect(await store.saveFeedback({ ...said, tenantId: 'ten_b' })).toBe(false);
      expect(await store.saveFeedback({ ...said, signalId: 'sig_none' })).toBe(false);
      await store.saveFeedback(said);
      expect(await store.getFeedback('ten_b', 'sig_1')).toBeNull();
    });

    test('the stamp changes when a profile is created, changed, deleted or replaced', async () => {
      const { store } = await openWithTenants(open);
      const stamps = [await store.profileStamp('ten_a')];
      const did = async (work: Promise<unknown>) => {
        await work;
        stamps.push(await store.profileStamp('ten_a'));
      };
      await did(store.createProfile(aProfile('icp_u'), 10));
      await did(store.changeProfile(aProfile('icp_u', { version: 2, active: false })));
      await did(
        store.deleteProfile('ten_a', 'icp_ten_a', T0).then(() => store.createProfile(aProfile('icp_v'), 10)),
      );
      await did(store.deleteProfile('ten_a', 'icp_u', T0));
      expect(new Set(stamps).size).toBe(5);
    });

    test('the lesson of a deleted profile is removed', async () => {
      const { store } = await openWithTenants(open);
      await store.createProfile(aProfile('icp_1'), 10);
      await store.commitSignals([aSignal('ten_a', { id: 'sig_1', profileId: 'icp_1' })]);
      await store.saveFeedback(said);
      expect(await store.listDueLessons(9)).toHaveLength(1);
      const before = await store.profileStamp('ten_a');
      expect(await store.deleteProfile('ten_a', 'icp_1', T0)).toBe('deleted');
      expect(await store.listDueLessons(9)).toEqual([]);
      expect(await store.profileStamp('ten_a')).not.toBe(before);
    });

    test('lists one due lesson of each tenant before further ones', async () => {
      const { store } = await openWithTenants(open);
      for (const id of ['icp_0', 'icp_1']) await store.createProfile(aProfile(id), 10);
      const judged = [
        ['ten_a', 'icp_0'],
        ['ten_a', 'icp_1'],
        ['ten_b', 'icp_ten_b'],
      ] as const;
      for (const [tenantId, profileId] of judged) {
        const id = `sig_${profileId}`;
        await store.commitSignals([aSignal(tenantId, { id, profileId })]);
        await store.saveFeedback({ ...said, tenantId, signalId: id });
      }
      const due = async (limit: number) =>
        (await store.listDueLessons(limit)).map(({ profileId }) => profileId);
      expect(await due(10)).toEqual(['icp_0', 'icp_ten_b', 'icp_1']);
      expect(await due(2)).toEqual(['icp_0', 'icp_ten_b']);
    });

    test('of very many due lessons, compares those of the oldest profiles', async () => {
      const { store } = await openWithTenants(open);
      const own = Array.from({ length: 20 }, (_, n) => `icp_${String(n).padStart(2, '0')}`);
      for (const id of own) await store.createProfile(aProfile(id), 21);
      for (const profileId of [...own, 'icp_ten_b']) {
        const [tenantId, signalId] = [profileId === 'icp_ten_b' ? 'ten_b' : 'ten_a', `sig_${profileId}`];
        await store.commitSignals([aSignal(tenantId, { id: signalId, profileId })]);
        await store.saveFeedback({ ...said, tenantId, signalId });
      }
      expect((await store.listDueLessons(2)).map(({ profileId }) => profileId)).toEqual(['icp_00', 'icp_01']);
      expect((await store.listDueLessons(3)).map(({ profileId }) => profileId)).toContain('icp_ten_b');
    });

    test('returns the newest posts with their feedback', async () => {
      const { store } = await openWithTenants(open);
      await store.commitSignals(
        [1, 2, 3].map((n) => aSignal('ten_a', { id: `sig_${n}`, timestamp: T0 + n, text: `Text ${n}` })),
      );
      await store.saveFeedback({ ...said, signalId: 'sig_3', relevant: false });
      const posts = await store.listPosts('ten_a', 2);
      expect(posts).toEqual([
        expect.objectContaining({
          id: 'sig_3',
          profileId: 'icp_ten_a',
          text: 'Text 3',
          score: 80,
          relevant: false,
        }),
        expect.objectContaining({ id: 'sig_2', relevant: null }),
      ]);
      expect(await store.listPosts('ten_b', 2)).toEqual([]);
    });
  });
}
