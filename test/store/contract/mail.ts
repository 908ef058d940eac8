import { describe, expect, test } from 'vitest';
import type { NewMail } from '../../../src/model/mail.ts';
import { T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

function aMail(id: string, overrides: Partial<NewMail> = {}): NewMail {
  return {
    id,
    tenantId: 'ten_a',
    facts: { kind: 'message', subject: 'Hello', text: 'World' },
    createdAt: T0,
    ...overrides,
  };
}

export function describeMail(open: OpenStore): void {
  describe('the outbox', () => {
    test("stores a mail once, and returns it with its owner's address while it is due", async () => {
      const { store } = await openWithTenants(open);
      await store.addMail(aMail('mal_1'));
      await store.addMail(aMail('mal_1', { facts: { kind: 'message', subject: 'Again', text: '' } }));
      expect(await store.dueMail(T0 - 1, 10)).toEqual([]);
      const waiting = { tries: 0, nextTryAt: T0, sentAt: null, announced: false };
      expect(await store.dueMail(T0, 10)).toEqual([
        { ...aMail('mal_1'), ...waiting, to: 'ten_a@example.com' },
      ]);
    });

    test('counts mail for all of its keys or for none, within the period of their limits', async () => {
      const { store } = await openWithTenants(open);
      const own = { key: 'ten_a', most: 2, withinMs: 1_000 };
      const address = { key: 'invite x', most: 1, withinMs: 5_000 };
      expect(await store.countMail([own, address], T0)).toBeNull();
      expect(await store.countMail([own, address], T0 + 100)).toEqual({ key: 'invite x', waitMs: 4_900 });
      expect(await store.countMail([own], T0 + 200)).toBeNull();
      expect(await store.countMail([own], T0 + 300)).toEqual({ key: 'ten_a', waitMs: 700 });
      expect(await store.countMail([own], T0 + 1_000)).toBeNull();
      expect(await store.countMail([own], T0 + 1_100)).toEqual({ key: 'ten_a', waitMs: 100 });
      expect(await store.countMail([address], T0 + 5_000)).toBeNull();
    });

    test('tenants take turns; password links and notices about credentials go first', async () => {
      const { store } = await openWithTenants(open);
      for (let i = 0; i < 30; i++) await store.addMail(aMail(`mal_a${String(i).padStart(2, '0')}`));
      await store.addMail(aMail('mal_b1', { tenantId: 'ten_b', createdAt: T0 + 5 }));
      await store.addMail(aMail('mal_b2', { tenantId: 'ten_b', createdAt: T0 + 6 }));
      const reset = { kind: 'password_reset', userId: 'own_ten_b', box: '' } as const;
      await store.addMail(aMail('mal_b3', { tenantId: 'ten_b', createdAt: T0 + 7, facts: reset }));
      const due = await store.dueMail(T0 + 9, 6);
      const ids = due.map(({ id }) => id);
      expect(ids).toEqual(['mal_b3', 'mal_a00', 'mal_b1', 'mal_a01', 'mal_b2', 'mal_a02']);
      expect(await store.dueMail(T0 + 4, 50)).toHaveLength(30);
    });

    test('a mail that was sent is no longer due, and is marked only once', async () => {
      const { store } = await openWithTenants(open);
      await store.addMail(aMail('mal_1'));
      expect(await store.markMailSent('mal_1', T0 + 5)).toBe(true);
      expect(await store.markMailSent('mal_1', T0 + 6)).toBe(false);
      expect(await store.markMailFailed('mal_1', T0 + 7)).toBe(false);
      expect(await store.dueMail(T0 + 99, 10)).toEqual([]);
      expect(await store.listMail('ten_a', 10)).toMatchObject([
        { sentAt: T0 + 5, tries: 1, nextTryAt: null },
      ]);
    });

    test('a mail that failed is due again at a given time, or never', async () => {
      const { store } = await openWithTenants(open);
      await store.addMail(aMail('mal_1'));
      await store.markMailFailed('mal_1', T0 + 60);
      expect(await store.dueMail(T0 + 59, 10)).toEqual([]);
      expect(await store.dueMail(T0 + 60, 10)).toMatchObject([{ id: 'mal_1', tries: 1 }]);
      await store.markMailFailed('mal_1', null);
      expect(await store.dueMail(T0 + 9_999, 10)).toEqual([]);
      expect(await store.listMail('ten_a', 10)).toMatchObject([{ tries: 2, sentAt: null }]);
    });

    test("a mail that was sent or given up is due again at its tenant's request", async () => {
      const { store } = await openWithTenants(open);
      await store.addMail(aMail('mal_1'));
      await store.markMailSent('mal_1', T0);
      expect(await store.resendMail('ten_b', 'mal_1', T0 + 5)).toBe(false);
      expect(await store.resendMail('ten_a', 'mal_1', T0 + 5)).toBe(true);
      expect(await store.dueMail(T0 + 5, 10)).toMatchObject([{ id: 'mal_1', tries: 0, sentAt: null }]);
      expect(await store.markMailSent('mal_1', T0 + 6)).toBe(true);
    });

    test('sends personal mail to its user, and other mail to an owner', async () => {
      const { store } = await openWithTenants(open);
      const facts = { kind: 'password_reset', userId: 'own_ten_b', box: '' } as const;
      await store.addMail(aMail('mal_1', { facts, tenantId: 'ten_b' }));
      await store.addMail(aMail('mal_2', { facts: { ...facts, userId: 'own_gone' } }));
      await store.addMail(aMail('mal_3'));
      const due = await store.dueMail(T0, 10);
      expect(Object.fromEntries(due.map(({ id, to }) => [id, to]))).toEqual({
        ...{ mal_1: 'ten_b@example.com', mal_2: null, mal_3: 'ten_a@example.com' },
      });
    });

    test('lists mail by tenant, newest first', async () => {
      const { store } = await openWithTenants(open);
      await store.addMail(aMail('mal_1'));
      await store.addMail(aMail('mal_2', { createdAt: T0 + 1 }));
      await store.addMail(aMail('mal_b', { tenantId: 'ten_b' }));
      expect((await store.listMail('ten_a', 10)).map(({ id }) => id)).toEqual(['mal_2', 'mal_1']);
      expect((await store.listMail('ten_a', 1)).map(({ id }) => id)).toEqual(['mal_2']);
    });

    test('returns unannounced waiting mail once', async () => {
      const { store } = await openWithTenants(open);
      await store.addMail(aMail('mal_1'));
      await store.addMail(aMail('mal_2'));
      await store.markMailSent('mal_2', T0);
      expect((await store.unannouncedMail(10)).map(({ id }) => id)).toEqual(['mal_1']);
      await store.markMailAnnounced(['mal_1']);
      expect(await store.unannouncedMail(10)).toEqual([]);
    });

    test('prunes old mail', async () => {
      const { store } = await openWithTenants(open);
      await store.addMail(aMail('mal_1'));
      await store.addMail(aMail('mal_2', { createdAt: T0 + 10 }));
      expect(await store.pruneMail(T0 + 10, 10)).toBe(1);
      expect((await store.listMail('ten_a', 10)).map(({ id }) => id)).toEqual(['mal_2']);
    });
  });
}
