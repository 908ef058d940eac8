import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSmallPage } from '../../src/webhooks/small-pages.ts';

const MOST = 1_000_000;

test('a page has at most a million characters or one event, and as many events as it may if they are small', async () => {
  const lengths = fc.array(fc.constantFrom(1, 1_000, 150_000, 400_000, 1_500_000), { maxLength: 100 });
  await fc.assert(
    fc.asyncProperty(lengths, fc.integer({ min: 1, max: 100 }), async (given, limit) => {
      const rows = given.map((length) => ({ data: 'x'.repeat(length) }));
      const { page, ...used } = await readSmallPage(async (most) => ({ rows: rows.slice(0, most) }), limit);
      const characters = page.rows.reduce((sum, { data }) => sum + data.length, 0);
      expect(characters <= MOST || page.rows.length === 1).toBe(true);
      expect(page.rows).toEqual(rows.slice(0, used.limit));
      expect(used.isSmall).toBe(characters < MOST / 5);
      if (rows.slice(0, limit).every(({ data }) => data.length <= MOST / limit))
        expect(used.limit).toBe(limit);
    }),
    { numRuns: 50 },
  );
});
