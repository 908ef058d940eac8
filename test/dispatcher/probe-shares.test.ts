import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dueInShares } from '../../src/dispatcher/probe-shares.ts';
import type { DueProbe } from '../../src/store/delivery-store.ts';

/** Lists these probes, in this order. */
const listOf = (all: readonly DueProbe[]) => async (limit: number, except: readonly string[]) =>
  all.filter(({ tenantId }) => !except.includes(tenantId)).slice(0, limit);

const probes = (tenantId: string, count: number): DueProbe[] =>
  Array.from({ length: count }, (_, n) => ({ endpointId: `${tenantId}_${n}`, tenantId }));

const countOf = (due: readonly DueProbe[], tenant: string) =>
  due.filter(({ tenantId }) => tenantId === tenant).length;

test('the due probes of one tenant leave places to those of others, however many they are', async () => {
  const due = await dueInShares(listOf([...probes('a', 9_000), ...probes('b', 100), ...probes('c', 3)]), 64);
  expect(['a', 'b', 'c'].map((tenant) => countOf(due, tenant))).toEqual([45, 16, 3]);
});

test('a tenant gets all places if no other needs them', async () => {
  expect(await dueInShares(listOf(probes('a', 9_000)), 64)).toEqual(probes('a', 64));
  expect(await dueInShares(listOf(probes('a', 64)), 0)).toEqual([]);
});

test('all places are used, nothing is listed twice, and no tenant is left out while another has more than half', async () => {
  const order = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(order, fc.integer({ min: 1, max: 20 }), async (owners, room) => {
      const all = owners.map((owner, n): DueProbe => ({ endpointId: `${n}`, tenantId: `${owner}` }));
      const due = await dueInShares(listOf(all), room);
      expect(due.length).toBe(Math.min(room, all.length));
      expect(new Set(due.map(({ endpointId }) => endpointId)).size).toBe(due.length);
      const tenants = new Set(all.map(({ tenantId }) => tenantId));
      const served = new Set(due.map(({ tenantId }) => tenantId));
      const most = Math.max(0, ...[...served].map((tenant) => countOf(due, tenant)));
      if (most > Math.ceil(room / 2) && room > 1) expect(served).toEqual(tenants);
    }),
  );
});
