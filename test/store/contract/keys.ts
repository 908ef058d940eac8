import { describe, expect, test } from 'vitest';
import { MOST_REVOKED_KEYS } from '../../../src/store/account-store.ts';
import { aKey, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

export function describeKeys(open: OpenStore): void {
  describe('managing keys', () => {
    test('only its own tenant can read a key', async () => {
      const { store } = await openWithTenants(open);
      const key = aKey('ten_a', { id: 'key_1', expiresAt: T0 + 1 });
      await store.createKey(key, 100);
      expect(await store.getKey('ten_a', 'key_1')).toEqual(key);
      expect(await store.getKey('ten_b', 'key_1')).toBeNull();
    });

    test('a change affects only the named members, and no other tenant', async () => {
      const { store } = await openWithTenants(open);
      const key = aKey('ten_a', { id: 'key_1', expiresAt: T0 + 1 });
      await store.createKey(key, 100);
      expect(await store.changeKey('ten_b', 'key_1', { name: 'stolen' })).toBeNull();
      const renamed = { ...key, name: 'Renamed' };
      expect(await store.changeKey('ten_a', 'key_1', { name: 'Renamed' })).toEqual(renamed);
      const rest = { scopes: ['leads:read' as const], rateLimit: 7, expiresAt: null };
      expect(await store.changeKey('ten_a', 'key_1', rest)).toEqual({ ...renamed, ...rest });
      expect(await store.getKey('ten_a', 'key_1')).toEqual({ ...renamed, ...rest });
    });

    test('cannot change a revoked key, even by concurrent requests', async () => {
      const { store } = await openWithTenants(open);
      await store.createKey(aKey('ten_a', { id: 'key_1' }), 100);
      const [, changed] = await Promise.all([
        store.revokeKey('key_1', T0),
        store.changeKey('ten_a', 'key_1', { expiresAt: null }),
      ]);
      expect(changed).toBeNull();
    });

    test('prunes keys revoked before a time, a limited number at a time, and keeps others', async () => {
      const { store } = await openWithTenants(open);
      for (const n of [1, 2, 3, 4]) await store.createKey(aKey('ten_a', { id: `key_${n}` }), 100);
      for (const n of [1, 2]) await store.revokeKey(`key_${n}`, T0);
      await store.revokeKey('key_3', T0 + 1);
      expect(await store.pruneKeys(T0 + 1, 1)).toBe(1);
      expect(await store.pruneKeys(T0 + 1, 10)).toBe(1);
      const { rows } = await store.pageKeys('ten_a', { limit: 10, after: null });
      expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(['key_3', 'key_4']));
      expect(rows.map(({ id }) => id)).not.toEqual(expect.arrayContaining(['key_1']));
      expect(await store.getKey('ten_a', 'key_2')).toBeNull();
    });

    test('keeps only the last 500 revoked keys of a tenant, and all others', async () => {
      const { store } = await openWithTenants(open);
      const addRevoked = async (tenantId: string, id: string, at: number) => {
        await store.createKey(aKey(tenantId, { id }), 100);
        await store.revokeKey(id, at);
      };
      await addRevoked('ten_b', 'key_other', T0);
      for (let n = 1; n <= MOST_REVOKED_KEYS + 2; n++) await addRevoked('ten_a', `key_${n}`, T0 + n);
      await store.createKey(aKey('ten_a', { id: 'key_new' }), 100);
      const revoked = (await store.listKeys('ten_a')).filter(({ revokedAt }) => revokedAt !== null);
      expect(revoked.map(({ revokedAt }) => revokedAt)).toEqual(
        expect.arrayContaining([T0 + 3, T0 + MOST_REVOKED_KEYS + 2]),
      );
      expect(revoked).toHaveLength(MOST_REVOKED_KEYS);
      for (const id of ['key_new', 'key_ten_a']) expect(await store.getKey('ten_a', id)).not.toBeNull();
      expect(await store.getKey('ten_b', 'key_other')).not.toBeNull();
    });

    test('pages contain each key once, oldest first, including revoked keys', async () => {
      const { store } = await openWithTenants(open);
      for (const n of [1, 2, 3]) await store.createKey(aKey('ten_a', { id: `key_${n}` }), 100);
      await store.revokeKey('key_2', T0);
      const first = await store.pageKeys('ten_a', { limit: 2, after: null });
      await store.createKey(aKey('ten_a', { id: 'key_4', createdAt: T0 + 1 }), 100);
      const second = await store.pageKeys('ten_a', { limit: 5, after: first.last });
      const ids = [...first.rows, ...second.rows].map((key) => key.id);
      expect(ids).toEqual(['key_1', 'key_2', 'key_3', 'key_ten_a', 'key_4']);
      expect(second.last).toBeNull();
    });
  });
}
