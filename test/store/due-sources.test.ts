import { expect, test } from 'vitest';
import { createDueSources } from '../../src/store/due-sources.ts';
import type { DueSource } from '../../src/store/source-store.ts';

test('reads due sources in pages, and keeps the longest due one of each tenant and host', async () => {
  const all: DueSource[] = Array.from({ length: 1_200 }, (_, n) => ({
    id: `src_${n}`,
    tenantId: n % 2 === 0 ? 'ten_a' : 'ten_b',
    host: n < 900 ? 'x.example.com' : `${n}.example.com`,
    dueAt: n,
  }));
  const pages: (string | null)[] = [];
  const dueSources = createDueSources({
    pageDueSources: async (now, after, limit) => {
      pages.push(after?.id ?? null);
      const from = after === null ? 0 : all.findIndex(({ id }) => id === after.id) + 1;
      return all.filter(({ dueAt }) => dueAt <= now).slice(from, from + limit);
    },
  });
  const found = await dueSources(1_100);
  expect(pages).toEqual([null, 'src_499', 'src_999']);
  expect(found.map(({ id }) => id)).toEqual([
    ...['src_0', 'src_1'],
    ...Array.from({ length: 201 }, (_, n) => `src_${900 + n}`),
  ]);
});
