import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { eventPageFace } from '../../../src/store/sqlite/face/pages.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { EVENTS_ABOUT_SQL, eventPageSql, type TypeShape } from '../../../src/store/sqlite/reads/events.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { aRoutedEvent, aSignal, aTenant } from '../../support/store.ts';

test.each<[TypeShape, string]>([
  ['any', 'events_by_time (tenant_id=? AND '],
  ['one', 'events_by_type (tenant_id=? AND type=? AND '],
])('a page of events of %s type is an index scan, never a sort', (shape, index) => {
  const db = openDatabase(':memory:');
  migrate(db);
  const values = { tenantId: 't', type: 'x', types: '[]', from: 0, to: 1, createdAt: 1, id: 'e', limit: 1 };
  const steps = db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${eventPageSql(shape)}`)
    .all(values)
    .map((step) => step.detail);
  db.close();
  expect(steps[0]).toContain(`SEARCH events USING INDEX ${index}`);
  expect(steps.join('; ')).not.toContain('TEMP B-TREE');
});

test('the events about a subject are read in the order of their index', () => {
  const db = openDatabase(':memory:');
  migrate(db);
  const steps = db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${EVENTS_ABOUT_SQL}`)
    .all('sig_1', 'ten_a', 10)
    .map((step) => step.detail);
  db.close();
  expect(steps).toEqual(['SEARCH events USING INDEX events_by_subject (subject_id=?)']);
});

test('events with long data are read a few at a time, without those removed meanwhile', async () => {
  const db = openDatabase(':memory:');
  migrate(db);
  const runner = createRunner(db);
  runner.createTenant(aTenant('ten_a'));
  const ids = Array.from({ length: 20 }, (_, n) => `evt_${10 + n}`);
  const events = ids.map((id) => {
    const { event, ...routed } = aRoutedEvent('ten_a', [], { id });
    return { ...routed, event: { ...event, data: JSON.stringify({ text: 'x'.repeat(40_000) }) } };
  });
  runner.commitSignals([aSignal('ten_a', { id: 'sig_1', events })]);
  let longest = 0;
  let reads = 0;
  const { listEvents, listStoredEvents } = eventPageFace(db, systemClock, async (query) => {
    const part = query();
    longest = Math.max(longest, JSON.stringify(part ?? null).length);
    if (++reads === 1) db.exec("DELETE FROM events WHERE id = 'evt_29'");
    return part;
  });
  const query = { types: [], from: null, to: null, limit: 15, after: null };
  const newest = await listEvents('ten_a', query);
  expect(newest.rows.map(({ id }) => id)).toEqual(ids.toReversed().slice(1, 15));
  const stored = await listStoredEvents('ten_a', query);
  expect(stored.rows.map(({ id, data }) => [id, data.length])).toEqual(
    ids.slice(0, 15).map((id) => [id, 40_011]),
  );
  // Of each page: which events they are, three at a time, and then four of them with their outcomes.
  expect(longest).toBeLessThan(200_000);
  expect(reads).toBeGreaterThanOrEqual(2 * (1 + 5 + 4));
  db.close();
});
