import { describe, expect, test } from 'vitest';
import { T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const HOUR = 3_600_000;
const ALL = { actor: null, action: null, from: null, to: null, limit: 10, after: null };

function aTest(i: number) {
  return { id: `tst_${i}`, endpointId: `whk_${i}`, startedAt: T0 };
}

export function describeAudit(open: OpenStore): void {
  describe('audit log', () => {
    test('records changes by an actor, but not changes without effect or actor', async () => {
      const { store } = await openWithTenants(open);
      const actor = { tenantId: 'ten_a', actor: 'usr_1' };
      await store.as(actor, () => store.setLink('own_ten_a', { tokenHash: 'x', expiresAt: T0 }));
      await store.as(actor, () => store.setLink('own_none', { tokenHash: 'x', expiresAt: T0 }));
      await store.as(null, () => store.setLink('own_ten_a', { tokenHash: 'y', expiresAt: T0 }));
      await store.setLink('own_ten_a', { tokenHash: 'z', expiresAt: T0 });
      const { rows } = await store.pageAudit('ten_a', ALL);
      expect(rows).toEqual([
        { at: T0, actor: 'usr_1', action: 'member.link', subject: 'own_ten_a', count: 1, client: '' },
      ]);
      expect((await store.pageAudit('ten_b', ALL)).rows).toEqual([]);
    });

    test('the actor is that of the call, regardless of how long the change takes', async () => {
      const { store } = await openWithTenants(open);
      const link = { tokenHash: 'x', expiresAt: T0 };
      await Promise.all(
        ['usr_1', 'usr_2'].map((actor) =>
          store.as({ tenantId: 'ten_a', actor }, async () => {
            await store.getTenant('ten_a');
            await store.setLink('own_ten_a', link);
            await store.endSession('none');
            await store.setLink('own_ten_a', link);
          }),
        ),
      );
      const { rows } = await store.pageAudit('ten_a', ALL);
      expect(rows.map(({ actor }) => actor).sort()).toEqual(['usr_1', 'usr_1', 'usr_2', 'usr_2']);
    });

    test('pages are newest first, and filtered by actor, action and time', async () => {
      const { store, clock } = await openWithTenants(open);
      for (let i = 0; i < 5; i++) {
        const actor = { tenantId: 'ten_a', actor: i % 2 === 0 ? 'usr_1' : 'key_1' };
        await store.as(actor, () => store.setLink('own_ten_a', { tokenHash: String(i), expiresAt: T0 }));
        clock.advance(HOUR);
      }
      const first = await store.pageAudit('ten_a', { ...ALL, limit: 3 });
      expect(first.rows.map(({ at }) => at - T0)).toEqual([4 * HOUR, 3 * HOUR, 2 * HOUR]);
      const second = await store.pageAudit('ten_a', { ...ALL, limit: 3, after: first.last });
      expect([second.rows.map(({ at }) => at - T0), second.last]).toEqual([[HOUR, 0], null]);
      const ofKey = await store.pageAudit('ten_a', { ...ALL, actor: 'key_1' });
      expect(ofKey.rows.map(({ at }) => at - T0)).toEqual([3 * HOUR, HOUR]);
      const range = await store.pageAudit('ten_a', { ...ALL, from: T0 + HOUR, to: T0 + 3 * HOUR });
      expect(range.rows.map(({ at }) => at - T0)).toEqual([2 * HOUR, HOUR]);
      const other = { ...ALL, actor: 'usr_1', action: 'key.create' } as const;
      expect((await store.pageAudit('ten_a', other)).rows).toEqual([]);
      expect((await store.pageAudit('ten_a', { ...other, action: 'member.link' })).rows).toHaveLength(3);
    });

    test('prunes the oldest entries first, in bounded parts', async () => {
      const { store, clock } = await openWithTenants(open);
      for (let i = 0; i < 4; i++) {
        await store.as({ tenantId: 'ten_a', actor: 'usr_1' }, () => store.recordTestSend(aTest(i)));
        clock.advance(HOUR);
      }
      const before = T0 + 3 * HOUR;
      expect([await store.pruneAudit(before, 2), await store.pruneAudit(before, 2)]).toEqual([2, 1]);
      expect(await store.pruneAudit(before, 2)).toBe(0);
      const { rows } = await store.pageAudit('ten_a', ALL);
      expect(rows.map(({ subject }) => subject)).toEqual(['whk_3']);
    });
  });
}
