import { expect, test } from 'vitest';
import { createDueLanes, type EndpointLane } from '../../src/store/due-lanes.ts';
import { countTurns } from '../support/turn.ts';

test('endpoints with waiting deliveries are found in parts, among those without', async () => {
  const all = Array.from({ length: 1_200 }, (_, n): EndpointLane => {
    const endpointId = `whk_${1_000 + n}`;
    return { endpointId, tenantId: 'ten_a', nextDueAt: n % 100 === 0 ? 5_000 - n : null };
  });
  const parts: string[] = [];
  const listDueLanes = createDueLanes({
    async lanesAfter(after, limit) {
      parts.push(after);
      return all.filter(({ endpointId }) => endpointId > after).slice(0, limit);
    },
  });
  const turns = countTurns();
  expect(await listDueLanes()).toEqual(all.filter(({ nextDueAt }) => nextDueAt !== null));
  expect(turns()).toBeGreaterThan(0);
  expect(parts).toEqual(['', 'whk_1499', 'whk_1999']);
});
