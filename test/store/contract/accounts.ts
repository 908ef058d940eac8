import { describe, expect, test } from 'vitest';
import { aKey, aTenant, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const terms = { endpoints: 1, maxRatePerMinute: 60, now: T0 };

export function describeAccounts(open: OpenStore): void {
  describe('tenants', () => {
    test('a tenant is created with its owner, profile and key, or not at all', async () => {
      const { store } = await open();
      const change = aTenant('ten_a', { trialEndsAt: T0 + 1, plan: 'trial' });
      await store.createTenant(change);
      expect(await store.getTenant('ten_a')).toEqual(change.tenant);
      expect(await store.listTenants()).toEqual([{ ...change.tenant, ownerEmail: change.owner.email }]);
      expect(await store.listProfiles('ten_a')).toEqual([change.profile]);
      expect(await store.findKey(change.key.hash)).toEqual({ key: change.key, tenant: change.tenant });
    });

    test('creating a tenant with an existing key stores nothing', async () => {
      const { store } = await open();
      await store.createTenant(aTenant('ten_a'));
      const clash = { ...aTenant('ten_b'), key: aKey('ten_b', { hash: aTenant('ten_a').key.hash }) };
      await expect(store.createTenant(clash)).rejects.toThrow();
      expect(await store.getTenant('ten_b')).toBeNull();
      expect(await store.listProfiles('ten_b')).toEqual([]);
    });

    test('founds only the first tenant, with a password and a session', async () => {
      const { store } = await open();
      const { key: _, ...change } = aTenant('ten_a');
      const session = {
        tokenHash: 's1',
        id: 'id-s1',
        client: '',
        createdAt: T0,
        seenAt: T0,
        expiresAt: T0 + 1,
      };
      const founding = { ...change, passwordHash: 'hashed', session };
      expect(await store.foundTenant(founding)).toBe(true);
      const owner = { id: 'own_ten_a', role: 'owner', passwordHash: 'hashed' };
      expect(await store.findSession('s1', T0)).toMatchObject({ user: owner, tenant: change.tenant });
      expect(await store.listProfiles('ten_a')).toEqual([change.profile]);
      expect(await store.userOfLink(change.owner.setupTokenHash, T0)).toBeNull();
      expect(await store.foundTenant({ ...founding, ...aTenant('ten_b') })).toBe(false);
      expect(await store.listTenants()).toHaveLength(1);
      const [id = ''] = await store.tenantIdsAfter('', 2);
      expect(await store.tenantIdsAfter(id, 2)).toEqual([]);
    });

    test('changes the plan of a tenant, but not that of an unknown tenant', async () => {
      const { store } = await openWithTenants(open);
      const change = { plan: 'starter', trialEndsAt: null, terms } as const;
      expect(await store.setPlan('ten_a', change)).toEqual({ paused: [], resumed: [] });
      expect(await store.getTenant('ten_a')).toMatchObject({ plan: 'starter', trialEndsAt: null });
      expect(await store.setPlan('ten_none', change)).toBeNull();
    });
  });

  describe('keys', () => {
    test('lists the keys of one tenant, or of all, in order of creation', async () => {
      const { store } = await openWithTenants(open);
      await store.createKey(aKey('ten_a', { id: 'key_2', createdAt: T0 + 1 }), 100);
      const ids = async (tenantId: string | null) => (await store.listKeys(tenantId)).map((key) => key.id);
      expect(await ids('ten_a')).toEqual(['key_ten_a', 'key_2']);
      expect(await ids(null)).toEqual(['key_ten_a', 'key_ten_b', 'key_2']);
    });

    test('finds a revoked key with the time it was first revoked', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.revokeKey('key_ten_a', T0 + 5)).toBe(true);
      expect(await store.revokeKey('key_ten_a', T0 + 9)).toBe(true);
      expect((await store.findKey('hash-of-key_ten_a'))?.key.revokedAt).toBe(T0 + 5);
      expect(await store.revokeKey('key_none', T0)).toBe(false);
    });

    test('an unknown hash finds no key', async () => {
      const opened = await openWithTenants(open);
      expect(await opened.store.findKey('no such hash')).toBeNull();
    });

    test('writes the last use of a key at most once a minute', async () => {
      const { store } = await openWithTenants(open);
      const lastUse = async () => (await store.findKey('hash-of-key_ten_a'))?.key.lastUsedAt;
      await store.touchKey('key_ten_a', T0);
      await store.touchKey('key_ten_a', T0 + 59_999);
      expect(await lastUse()).toBe(T0);
      await store.touchKey('key_ten_a', T0 + 60_000);
      expect(await lastUse()).toBe(T0 + 60_000);
    });
  });

  test('the probe succeeds on a working store', async () => {
    const opened = await open();
    await expect(opened.store.probe()).resolves.toBeUndefined();
  });
}
