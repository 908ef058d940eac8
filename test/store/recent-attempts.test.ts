import { expect, test } from 'vitest';
import { createRecentAttempts, type StoredStart } from '../../src/store/recent-attempts.ts';

test('recent attempts are read in parts, the others first', async () => {
  const stored = Array.from({ length: 7_000 }, (_, n): StoredStart => {
    const id = `att_9${String(n).padStart(5, '0')}`;
    return { id, endpointId: `whk_${n % 2}`, startedAt: n, isRepeated: n === 6_999 };
  });
  const parts: number[] = [];
  const heldFrom: string[] = [];
  const readRecent = createRecentAttempts({
    async testStarts() {
      expect(parts).toEqual([]);
      return [{ endpointId: 'whk_2', startedAt: 8_000 }];
    },
    async heldAfter(after) {
      expect(parts).toEqual([]);
      heldFrom.push(after);
      return after === ''
        ? { endpointIds: ['whk_2', 'whk_3'], last: 'whk_3' }
        : { endpointIds: ['whk_4'], last: null };
    },
    async attemptsAfter(after, _since, limit) {
      const part = stored.filter(({ id }) => id > after).slice(0, limit);
      parts.push(part.length);
      return part;
    },
  });
  const starts = await readRecent(0, 9_000);
  expect(parts).toEqual([3_000, 3_000, 1_000]);
  expect(starts.get('whk_0')).toEqual(stored.filter((_, n) => n % 2 === 0).map(({ startedAt }) => startedAt));
  expect(starts.get('whk_1')).toHaveLength(3_501);
  expect(starts.get('whk_1')?.slice(-2)).toEqual([6_999, 6_999]);
  expect(heldFrom).toEqual(['', 'whk_3']);
  expect(starts.get('whk_2')).toEqual([8_000, 9_000]);
  expect(starts.get('whk_4')).toEqual([9_000]);
});
