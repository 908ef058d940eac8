import { expect, test } from 'vitest';
import type { Connection } from '../../../src/store/postgres/connection.ts';
import { laneReads } from '../../../src/store/postgres/reads/lanes.ts';

/** A connection to a database with attempts 1 to `count`, one per millisecond; records how many each answer has. */
function connectionTo(count: number) {
  const answers: number[] = [];
  const all = Array.from({ length: count }, (_, n) => {
    const startedAt = n + 1;
    return [`att_${String(startedAt).padStart(26, '0')}`, 'whk_a', startedAt, startedAt === 5];
  });
  const ask: Connection['ask'] = async ({ text }, values) => {
    if (!text.includes('FROM attempts')) return { columns: [], rows: [], count: 0 };
    const [after = '', limit = count] = [values[1], values[4]] as [string, number | undefined];
    const rows = all.filter(([id]) => String(id) > after).slice(0, limit);
    answers.push(rows.length);
    return { columns: ['id', 'endpointId', 'startedAt', 'isRepeated'], rows, count: rows.length };
  };
  return { db: { ask } as unknown as Connection, answers };
}

// On a takeover, with all attempts of a minute on the thread of the requests.
test('attempts to endpoints that are taken over are read in parts', async () => {
  const { db, answers } = connectionTo(7_000);
  const starts = await laneReads(db).startsOf({ endpointIds: ['whk_a'], held: {}, since: 0, now: 8_000 });
  expect(answers).toEqual([3_000, 3_000, 1_000]);
  const once = Array.from({ length: 7_000 }, (_, n) => n + 1);
  expect(starts).toEqual(new Map([['whk_a', [...once, 5].sort((a, b) => a - b)]]));
});
