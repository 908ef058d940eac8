import { expect, test } from 'vitest';
import type { Connection } from '../../../src/store/postgres/connection.ts';
import { eventReads } from '../../../src/store/postgres/reads/events.ts';

/** A connection to a database with events of as many deliveries each; records how many deliveries each answer has. */
function connectionTo(events: number, deliveriesOfEach: number) {
  const answers: number[] = [];
  const columnsOf = {
    events: ['id', 'tenantId', 'type', 'subjectId', 'createdAt', 'data'],
    deliveries: ['eventId', 'together', 'id', 'endpointId', 'status', 'endpointDeleted'],
  };
  const ask: Connection['ask'] = async ({ text }, [first]) => {
    const answer = (columns: string[], rows: unknown[][]) => ({ columns, rows, count: rows.length });
    if (text.includes('together')) {
      const rows = [first].flat(2).flatMap((id) => {
        const ids = typeof id === 'string' ? [id] : (id as { ids: string[] }).ids;
        return ids.flatMap((eventId) =>
          Array.from({ length: deliveriesOfEach }, (_, n) => [
            ...[eventId, false, `dlv_${eventId}_${n}`, `whk_${n}`, 'delivered', false],
          ]),
        );
      });
      answers.push(rows.length);
      return answer(columnsOf.deliveries, rows);
    }
    if (!text.includes('FROM events e')) return answer(['eventId', 'endpointId'], []);
    const rows = Array.from({ length: events }, (_, n) => [
      `evt_${n}`,
      'ten_a',
      'lead.created',
      'led_1',
      n,
      '{}',
    ]);
    return answer(columnsOf.events, rows);
  };
  return { db: { ask } as unknown as Connection, answers };
}

// A backfill reads a hundred events, each of which may have deliveries to thousands of endpoints, on the thread of the requests.
test('outcomes of events are read in pieces, by their number', async () => {
  const many = connectionTo(20, 2_000);
  const found = await eventReads(many.db).listEventsAbout('ten_a', 'led_1', 20);
  expect(found.map(({ id, deliveries }) => [id, deliveries.length])).toEqual(
    Array.from({ length: 20 }, (_, n) => [`evt_${n}`, 2_000]),
  );
  expect(Math.max(...many.answers)).toBe(4_000);

  const few = connectionTo(20, 3);
  await eventReads(few.db).listEventsAbout('ten_a', 'led_1', 20);
  expect(few.answers).toEqual([3, 57]);
});
