import { describe, expect, test } from 'vitest';
import type { Role } from '../../../src/model/tenant.ts';
import { T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

function aMember(id: string, role: Role = 'member', tenantId = 'ten_a') {
  const user = { id, tenantId, email: `${id}@example.com`, role, createdAt: T0 + 1 };
  const facts = { kind: 'message', subject: 'Hello', text: '' } as const;
  return {
    user: { ...user, passwordHash: null, hasSecondFactor: false },
    link: { tokenHash: `link-${id}`, expiresAt: T0 + 1_000 },
    mail: { id: `mail_${id}`, tenantId, facts, createdAt: T0 },
  };
}

const FACTOR = { userId: 'own_ten_a', step: 100, now: T0, codeHashes: ['a', 'b'], keep: '' };
const BOX = Buffer.from('sealed');

export function describeTeam(open: OpenStore): void {
  describe('team and second factors', () => {
    test('adds a user once per address, with a link and a mail, up to the limit', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.addMember(aMember('usr_1'), 3)).toBe('added');
      const again = { ...aMember('usr_2'), user: { ...aMember('usr_2').user, email: 'USR_1@example.com' } };
      expect(await store.addMember(again, 3)).toBe('known');
      expect(await store.addMember(aMember('usr_2'), 3)).toBe('added');
      expect(await store.addMember(aMember('usr_3'), 3)).toBe('full');
      expect((await store.listMembers('ten_a')).map(({ id }) => id)).toEqual(['own_ten_a', 'usr_1', 'usr_2']);
      expect(await store.userOfLink('link-usr_1', T0)).toMatchObject({ id: 'usr_1', role: 'member' });
      expect((await store.listMail('ten_a', 10)).length).toBe(2);
      expect(await store.getMember('ten_b', 'usr_1')).toBeNull();
    });

    test('the last owner who can log in stays an owner', async () => {
      const { store } = await openWithTenants(open);
      await store.setPasswordByLink({
        ...{ linkHash: 'setup-hash-of-ten_a', passwordHash: 'h', session: null, now: T0 },
      });
      await store.addMember(aMember('usr_1', 'owner'), 10);
      expect(await store.changeRole('ten_a', 'own_ten_a', 'reader')).toBe('last_owner');
      expect(await store.removeMember('ten_a', 'own_ten_a')).toBe('last_owner');
      await store.setPasswordByLink({
        ...{ linkHash: 'link-usr_1', passwordHash: 'h', session: null, now: T0 },
      });
      expect(await store.changeRole('ten_a', 'own_ten_a', 'owner')).toBe('same');
      expect(await store.changeRole('ten_a', 'own_ten_a', 'reader')).toBe('changed');
      expect(await store.changeRole('ten_b', 'usr_1', 'reader')).toBe('missing');
      expect(await store.removeMember('ten_a', 'usr_1')).toBe('last_owner');
      expect(await store.firstOwner('ten_a')).toMatchObject({ id: 'usr_1' });
      expect((await store.listTenants())[0]?.ownerEmail).toBe('usr_1@example.com');
    });

    test('a removed user no longer has sessions or a second factor', async () => {
      const { store } = await openWithTenants(open);
      await store.addMember(aMember('usr_1'), 10);
      await store.createSession({
        ...{ tokenHash: 's', id: 'i', client: '', userId: 'usr_1' },
        ...{ createdAt: T0, seenAt: T0, expiresAt: T0 + 1_000 },
      });
      await store.offerFactor('usr_1', BOX);
      await store.confirmFactor({ ...FACTOR, userId: 'usr_1' });
      expect(await store.removeMember('ten_b', 'usr_1')).toBe('missing');
      expect(await store.removeMember('ten_a', 'usr_1')).toBe('removed');
      expect(await store.removeMember('ten_a', 'usr_1')).toBe('missing');
      expect(await store.findSession('s', T0)).toBeNull();
      expect(await store.getFactor('usr_1')).toBeNull();
    });

    test('a second factor is offered and confirmed by its first code, and each code works once', async () => {
      const { store } = await openWithTenants(open);
      const { userId } = FACTOR;
      expect(await store.confirmFactor(FACTOR)).toBe(false);
      expect(await store.spendStep(userId, 101)).toBe(false);
      await store.offerFactor(userId, Buffer.from('older'));
      expect(await store.offerFactor(userId, BOX)).toBe(true);
      expect(await store.setRecoveryCodes(userId, ['x'])).toBe(false);
      expect(await store.dropFactor(userId)).toBe(false);
      expect((await store.getMember('ten_a', userId))?.hasSecondFactor).toBe(false);
      expect(await store.confirmFactor(FACTOR)).toBe(true);
      expect(await store.confirmFactor(FACTOR)).toBe(false);
      expect(await store.offerFactor(userId, BOX)).toBe(false);
      const factor = await store.getFactor(userId);
      expect(factor).toMatchObject({ since: T0, step: 100, codesLeft: 2 });
      expect(Buffer.from(factor?.box ?? [])).toEqual(BOX);
      expect((await store.getMember('ten_a', userId))?.hasSecondFactor).toBe(true);
      expect([await store.spendStep(userId, 100), await store.spendStep(userId, 101)]).toEqual([false, true]);
      expect([await store.spendStep(userId, 101), await store.spendStep(userId, 99)]).toEqual([false, false]);
      expect([
        await store.spendRecoveryCode(userId, 'a'),
        await store.spendRecoveryCode(userId, 'a'),
      ]).toEqual([true, false]);
      expect(await store.spendRecoveryCode('own_ten_b', 'b')).toBe(false);
      expect(await store.setRecoveryCodes(userId, ['c', 'd', 'e'])).toBe(true);
      expect((await store.getFactor(userId))?.codesLeft).toBe(3);
      expect([await store.dropFactor(userId), await store.dropFactor(userId)]).toEqual([true, false]);
      expect(await store.getFactor(userId)).toBeNull();
    });
  });
}
