import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/store/event-store.ts';
import { eventResource } from '../../src/webhooks/deliveries.ts';
import { T0 } from '../support/store.ts';

const idOf = (n: number) => `whk_${10_000 + n}`;
const ENDPOINTS = Array.from({ length: 2_000 }, (_, n) => ({ id: idOf(n), createdAt: T0 }));

/** An event with deliveries to these endpoints. */
function eventTo(numbers: number[]): RecordedEvent {
  const deliveries = numbers.map((n) => ({
    ...{ id: `dlv_${n}`, endpointId: idOf(n), status: 'delivered' as const, endpointDeleted: false },
  }));
  return {
    ...{
      id: 'evt_1',
      tenantId: 'ten_a',
      type: 'lead.created',
      subjectId: 'led_1',
      data: '{}',
      createdAt: T0 + 1,
    },
    ...{ deliveries, batched: [idOf(1_997)], skips: [{ endpointId: '*', reason: 'event_type' }] },
  };
}

test('of very many outcomes, a thousand are listed, and those with a delivery before the others', () => {
  const { deliveries } = eventResource(eventTo([5, 1_998]), ENDPOINTS, T0 + 2);
  expect(deliveries).toHaveLength(1_000);
  expect(
    deliveries.filter(({ status }) => status !== 'skipped').map(({ endpoint_id }) => endpoint_id),
  ).toEqual([5, 1_997, 1_998].map(idOf));
  expect(new Set(deliveries.map(({ endpoint_id }) => endpoint_id)).size).toBe(1_000);
  const ids = deliveries.map(({ endpoint_id }) => endpoint_id);
  expect(ids).toEqual([...ids].sort());
});

test('no endpoint is listed as skipped if more were sent the event than are listed', () => {
  const sent = Array.from({ length: 1_000 }, (_, n) => 2 * n);
  const { deliveries } = eventResource(eventTo(sent), ENDPOINTS, T0 + 2);
  expect(deliveries.map(({ endpoint_id }) => endpoint_id)).toEqual(sent.map(idOf));
});
