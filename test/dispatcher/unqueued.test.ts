import { expect, it } from 'vitest';
import { createSlots } from '../../src/dispatcher/slots.ts';
import { createSendTest, type TestSendDeps } from '../../src/dispatcher/unqueued.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { anEndpoint } from '../support/store.ts';

it('sends no test while a tenant has as many requests in flight as there are free slots', async () => {
  const clock = createManualClock();
  const slots = createSlots(clock, () => {});
  while (slots.hasRoomFor('ten_a')) slots.take('first', 'ten_a');
  const deps = { clock, flights: { slots } } as unknown as TestSendDeps;
  const test = createSendTest(deps)({ endpoint: anEndpoint('ten_a'), deliveryId: 'dlv_1', body: '{}' });
  await expect(test).rejects.toMatchObject({ code: 'UNAVAILABLE', extra: { retryAfterSeconds: 1 } });
});
