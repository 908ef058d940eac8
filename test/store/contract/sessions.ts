import { describe, expect, test } from 'vitest';
import { T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const DAY = 86_400_000;

function aSession(tokenHash: string, overrides = {}) {
  return {
    tokenHash,
    id: `id-${tokenHash}`,
    client: 'Firefox on Linux',
    createdAt: T0,
    seenAt: T0,
    expiresAt: T0 + DAY,
    ...overrides,
  };
}

export function describeSessions(open: OpenStore): void {
  describe('users and sessions', () => {
    test('a link works once until it expires; using it sets the password and starts a session', async () => {
      const { store } = await openWithTenants(open);
      const linkHash = 'setup-hash-of-ten_a';
      const change = { linkHash, passwordHash: 'hashed', session: aSession('s1'), now: T0 };
      expect(await store.anyPassword()).toBe(false);
      expect(await store.userOfLink(linkHash, T0 + DAY)).toBeNull();
      expect(await store.userOfLink(linkHash, T0)).toMatchObject({ id: 'own_ten_a', passwordHash: null });
      expect(await store.setPasswordByLink({ ...change, now: T0 + DAY })).toBeNull();
      expect(await store.findSession('s1', T0)).toBeNull();
      expect(await store.setPasswordByLink(change)).toMatchObject({ role: 'owner', passwordHash: 'hashed' });
      expect(await store.setPasswordByLink({ ...change, session: aSession('s2') })).toBeNull();
      expect(await store.userOfLink('', T0)).toBeNull();
      expect(await store.anyPassword()).toBe(true);
      const found = await store.findSession('s1', T0);
      expect(found).toMatchObject({ user: { id: 'own_ten_a' }, tenant: { id: 'ten_a' } });
      expect(found?.session).toEqual({ ...aSession('s1'), userId: 'own_ten_a' });
    });

    test('a new link replaces the previous one, and using it ends all sessions', async () => {
      const { store } = await openWithTenants(open);
      await store.createSession({ ...aSession('old'), userId: 'own_ten_a' });
      await store.createSession({ ...aSession('other'), userId: 'own_ten_b' });
      expect(await store.setLink('own_none', { tokenHash: 'x', expiresAt: T0 + 1 })).toBe(false);
      expect(await store.setLink('own_ten_a', { tokenHash: 'new', expiresAt: T0 + 1 })).toBe(true);
      expect(await store.userOfLink('setup-hash-of-ten_a', T0)).toBeNull();
      const change = { linkHash: 'new', passwordHash: 'h', session: aSession('s3'), now: T0 };
      expect(await store.setPasswordByLink(change)).not.toBeNull();
      expect(await store.findSession('old', T0)).toBeNull();
      expect(await store.findSession('other', T0)).not.toBeNull();
    });

    test('finds users by address, ignoring case, and owners by tenant', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.usersByEmail('TEN_A@Example.com', 5)).toMatchObject([{ id: 'own_ten_a' }]);
      expect(await store.usersByEmail('nobody@example.com', 5)).toEqual([]);
      expect(await store.firstOwner('ten_b')).toMatchObject({ id: 'own_ten_b' });
      expect(await store.firstOwner('ten_none')).toBeNull();
    });

    test('a user can end one session by its ID, or all but one; a new password ends the others', async () => {
      const { store } = await openWithTenants(open);
      for (const [i, name] of ['s1', 's2', 's3', 's4'].entries()) {
        await store.createSession({ ...aSession(name, { seenAt: T0 + i }), userId: 'own_ten_a' });
      }
      await store.createSession({ ...aSession('other'), userId: 'own_ten_b' });
      const idsOf = async () => (await store.listSessions('own_ten_a', T0)).map(({ id }) => id);
      expect(await idsOf()).toEqual(['id-s4', 'id-s3', 'id-s2', 'id-s1']);
      expect(await store.endSessionOf('own_ten_a', 'id-other', 's1')).toBe(false);
      expect(await store.endSessionOf('own_ten_a', 'id-s4', 's1')).toBe(true);
      expect(await idsOf()).toEqual(['id-s3', 'id-s2', 'id-s1']);
      const change = { userId: 'own_ten_a', passwordHash: 'new', keep: 's2' };
      expect(await store.changePassword(change)).toBe(true);
      expect(await store.changePassword({ ...change, userId: 'own_none' })).toBe(false);
      expect(await idsOf()).toEqual(['id-s2']);
      expect(await store.endSessionOf('own_ten_a', null, 's2')).toBe(false);
      expect(await store.findSession('other', T0)).not.toBeNull();
    });

    test('a session is extended by use, can be ended, and is removed once it has expired', async () => {
      const { store } = await openWithTenants(open);
      for (const name of ['s1', 's2', 's3']) {
        await store.createSession({ ...aSession(name), userId: 'own_ten_a' });
      }
      expect(await store.findSession('s1', T0 + DAY)).toBeNull();
      await store.touchSession('s1', { seenAt: T0 + 5, expiresAt: T0 + DAY + 5 });
      expect((await store.findSession('s1', T0 + DAY))?.session.seenAt).toBe(T0 + 5);
      expect(await store.endSession('s2')).toBe(true);
      expect(await store.endSession('s2')).toBe(false);
      expect(await store.pruneSessions(T0 + DAY + 1, 10)).toBe(1);
      expect(await store.findSession('s1', T0)).not.toBeNull();
      expect(await store.findSession('s3', T0)).toBeNull();
    });
  });
}
