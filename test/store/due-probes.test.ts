import { expect, test } from 'vitest';
import { createDueProbes, type DueProbeRow } from '../../src/store/due-probes.ts';

/** Probes that are due at 0, 1, 2 …; deliveries of every tenth wait. */
const ROWS = Array.from(
  { length: 20_000 },
  (_, at): DueProbeRow => ({
    at,
    endpointId: `whe_${at}`,
    tenantId: at < 19_000 ? 'ten_a' : 'ten_b',
    waits: at % 10 === 9,
  }),
);

test('due probes are listed in parts, between which other tasks run', async () => {
  const limits: number[] = [];
  let turns = 0;
  const list = createDueProbes({
    async dueProbesAfter(after, now, except, limit) {
      limits.push(limit);
      const rows = ROWS.filter(
        ({ at, tenantId }) => at > after.at && at <= now && !except.includes(tenantId),
      );
      return rows.slice(0, limit);
    },
  });
  const ids = async (now: number, limit: number, except?: string[]) =>
    (await list(now, limit, except)).map(({ endpointId }) => endpointId);
  expect(await ids(100, 3)).toEqual(['whe_9', 'whe_19', 'whe_29']);
  expect(await ids(100, 1_000)).toHaveLength(10);
  expect(await ids(30_000, 2, ['ten_a'])).toEqual(['whe_19009', 'whe_19019']);
  expect(limits).toEqual([1_000, 1_000, 1_000]);
  const counting = setInterval(() => turns++, 0);
  expect(await ids(30_000, 5_000)).toHaveLength(2_000);
  clearInterval(counting);
  expect(limits).toHaveLength(3 + 21);
  expect(turns).toBeGreaterThan(0);
});
