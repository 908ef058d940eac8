import { expect, test } from 'vitest';
import type { Connection } from '../../../src/store/postgres/connection.ts';
import { eventReads } from '../../../src/store/postgres/reads/events.ts';

/** A connection to a database with events, by their number of deliveries; records how many deliveries each answer has. */
function connectionTo(deliveriesOf: readonly number[]) {
  const answers: number[] = [];
  const columnsOf = {
    events: ['id', 'tenantId', 'type', 'subjectId', 'createdAt', 'data'],
    deliveries: ['eventId', 'together', 'id', 'endpointId', 'status', 'endpointDeleted'],
  };
  const ask: Connection['ask'] = async ({ text }, [first]) => {
    const idsIn = () =>
      [first].flat(2).flatMap((id) => (typeof id === 'string' ? [id] : (id as { ids: string[] }).ids));
    const countOf = (eventId: string) => deliveriesOf[Number(eventId.slice('evt_'.length))] ?? 0;
    const answer = (columns: string[], rows: unknown[][]) => ({ columns, rows, count: rows.length });
    if (text.includes('together')) {
      const rows = idsIn().flatMap((eventId) =>
        Array.from({ length: countOf(eventId) }, (_, n) => [
          ...[eventId, false, `dlv_${eventId}_${n}`, `whk_${n}`, 'delivered', false],
        ]),
      );
      answers.push(rows.length);
      return answer(columnsOf.deliveries, rows);
    }
    if (text.includes('SELECT (SELECT count(*)'))
      return answer(
        ['count'],
        idsIn().map((id) => [countOf(id)]),
      );
    if (!text.includes('FROM events e')) return answer(['eventId', 'endpointId'], []);
    const rows = deliveriesOf.map((_, n) => [`evt_${n}`, 'ten_a', 'lead.created', 'led_1', n, '{}']);
    return answer(columnsOf.events, rows);
  };
  return { db: { ask } as unknown as Connection, answers };
}

// A backfill reads a hundred events, each of which may have deliveries to thousands of endpoints, on the thread of the requests.
test('outcomes of events are read in pieces, by their number', async () => {
  const many = connectionTo(Array(20).fill(2_000));
  const found = await eventReads(many.db).listEventsAbout('ten_a', 'led_1', 20);
  expect(found.map(({ id, deliveries }) => [id, deliveries.length])).toEqual(
    Array.from({ length: 20 }, (_, n) => [`evt_${n}`, 2_000]),
  );
  expect(Math.max(...many.answers)).toBe(4_000);

  const few = connectionTo(Array(20).fill(3));
  await eventReads(few.db).listEventsAbout('ten_a', 'led_1', 20);
  expect(few.answers).toEqual([60]);
});

// The first event was a sample for the next fifty, which were read at once if it had none.
test('outcomes of events that differ are read in pieces, too', async () => {
  const uneven = connectionTo([0, ...Array(19).fill(1_000)]);
  await eventReads(uneven.db).listEventsAbout('ten_a', 'led_1', 20);
  expect(uneven.answers.reduce((sum, count) => sum + count)).toBe(19_000);
  expect(Math.max(...uneven.answers)).toBe(4_000);
});
