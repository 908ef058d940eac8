import { expect, test } from 'vitest';
import { STAGES } from '../../../src/model/constants.ts';
import type { Connection } from '../../../src/store/postgres/connection.ts';
import { boardReads, leadListReads } from '../../../src/store/postgres/reads/leads.ts';
import { countTurns } from '../../support/turn.ts';

const WIRE = '人'.repeat(1_000_000);

/** A connection to a database with ten large leads in each stage, from which reads are answered at once. */
function connectionToLargeLeads() {
  const ask: Connection['ask'] = async ({ text }, values) => {
    if (text.includes('sum(')) return { columns: [], rows: [], count: 0 };
    const columns = text.includes('l.created_at') ? ['id', 'created_at', 'score', 'wire'] : ['wire'];
    const count = Math.min(10, Number(values.at(-1)));
    const rows = Array.from({ length: count }, (_, n) => [`led_${n}`, n, 1, WIRE].slice(-columns.length));
    return { columns, rows, count };
  };
  return { ask } as unknown as Connection;
}

// A board of large leads was encoded on the thread of the requests in one piece of up to 0.5 s.
test('large leads are encoded in turns of the event loop', async () => {
  const db = connectionToLargeLeads();
  const turnsOfBoard = countTurns();
  const board = await boardReads(db).readBoard('ten_a', 10);
  expect(turnsOfBoard()).toBeGreaterThan(10);
  expect(board.map(({ stage, leads }) => [stage, leads.length])).toEqual(STAGES.map((stage) => [stage, 10]));
  expect(board[0]?.leads[0]?.toString()).toBe(WIRE);

  const turnsOfList = countTurns();
  const query = { stages: [], classifications: [], sources: [], companyDomains: [], owners: [] };
  const page = await leadListReads(db).listLeads('ten_a', {
    ...query,
    ...{ minScore: null, identity: null, q: null, tag: null, sort: '-created_at', limit: 9, after: null },
  });
  expect(turnsOfList()).toBeGreaterThan(1);
  expect([page.rows.length, page.last]).toEqual([9, [8, 'led_8']]);
});
