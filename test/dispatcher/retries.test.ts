import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, settle } from './harness.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver(status(500));
});
afterEach(() => receiver.close());

describe('a failing delivery', () => {
  it('is retried after 1 s, 5 s and 30 s, never early, and then kept as a dead letter', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    const [deliveryId = ''] = await harness.enqueue(id);
    await harness.dispatcher.start();
    await harness.committed(1);
    for (const [index, waitMs] of [1_000, 5_000, 30_000].entries()) {
      harness.clock.advance(waitMs - 1);
      await settle();
      expect(receiver.requests).toHaveLength(index + 1);
      harness.clock.advance(1 + 10); // the precision of the timer
      await harness.committed(index + 2);
    }
    const log = await harness.delivery(deliveryId);
    expect(log.status).toBe('dead');
    expect(log.attempts.map((attempt) => attempt.attempt)).toEqual([1, 2, 3, 4]);
    expect(receiver.requests.map((request) => request.headers['x-service-attempt'])).toEqual([
      '1',
      '2',
      '3',
      '4',
    ]);
    expect(new Set(receiver.requests.map((request) => request.headers['webhook-id'])).size).toBe(1);
    await harness.dispatcher.stop(0);
  });

  it('keeps its slot until its failure is stored, so that nothing starts after a pause', async () => {
    let failures = 0;
    const harness = await createHarness({
      wrap: (store) => ({
        ...store,
        async recordOutcome(outcome) {
          const kept = await store.recordOutcome(outcome);
          failures++;
          return kept;
        },
        async claimDeliveries(request) {
          if (failures < 20) return store.claimDeliveries(request);
          return request.lanes.map(({ endpointId }) => ({
            endpointId,
            deliveries: [],
            nextDueAt: null,
            endpoint: 'gone' as const,
          }));
        },
      }),
    });
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 55);
    await harness.dispatcher.start();
    await harness.committed(20);
    harness.clock.advance(120_000);
    await settle(50);
    expect(receiver.requests).toHaveLength(20);
    await harness.dispatcher.stop(0);
  });
});
