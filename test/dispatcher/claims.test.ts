import { afterEach, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, type Harness } from './harness.ts';

let harness: Harness | null = null;
let receiver: Receiver | null = null;
afterEach(async () => {
  await harness?.dispatcher.stop(0);
  await receiver?.close();
});

test('claims for very many endpoints are divided, so that other commits have their turn', async () => {
  const claims: { lanes: number; deliveries: number }[] = [];
  receiver = await startReceiver();
  harness = await createHarness({
    wrap: (store) => ({
      ...store,
      claimDeliveries(request) {
        const deliveries = request.lanes.reduce((sum, { limit }) => sum + limit, 0);
        claims.push({ lanes: request.lanes.length, deliveries });
        return store.claimDeliveries(request);
      },
    }),
  });
  for (let n = 0; n < 400; n++) {
    const { id } = await harness.endpoint({ url: `${receiver.url}?${n}` });
    await harness.enqueue(id);
  }
  await harness.dispatcher.start();
  await harness.committed(400);
  expect(harness.outcomes.every(({ next }) => next.status === 'delivered')).toBe(true);
  expect(Math.max(...claims.map(({ lanes }) => lanes))).toBeLessThanOrEqual(171);
  expect(Math.max(...claims.map(({ deliveries }) => deliveries))).toBeLessThanOrEqual(512);
});
