import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unavailable } from '../../src/store/write-queue.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, settle } from './harness.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

describe('a failing store', () => {
  it('is asked for work again a second later, without a busy loop', async () => {
    let calls = 0;
    const harness = await createHarness({
      wrap: (store) => ({
        ...store,
        claimDeliveries: (request) =>
          ++calls === 1 ? Promise.reject(new Error('disk full')) : store.claimDeliveries(request),
      }),
    });
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id);
    await harness.dispatcher.start();
    await settle(50);
    expect(calls).toBe(1);
    harness.clock.advance(1_000);
    await harness.committed(1);
    await harness.dispatcher.stop(0);
  });

  it('is offered an outcome until it is accepted, so that nothing is sent twice', async () => {
    let calls = 0;
    const harness = await createHarness({
      wrap: (store) => ({
        ...store,
        recordOutcome: (outcome) =>
          ++calls === 1 ? Promise.reject(new Error('disk full')) : store.recordOutcome(outcome),
      }),
    });
    const { id } = await harness.endpoint({ url: receiver.url });
    const [deliveryId = ''] = await harness.enqueue(id);
    await harness.dispatcher.start();
    await receiver.received(1);
    await settle(50);
    harness.clock.advance(1_000);
    await harness.committed(1);
    expect((await harness.delivery(deliveryId)).status).toBe('delivered');
    expect(receiver.requests).toHaveLength(1);
    await harness.dispatcher.stop(0);
  });

  it('is logged once, not for each waiting outcome', async () => {
    const lines: object[] = [];
    let calls = 0;
    const harness = await createHarness({
      onLog: (line) => lines.push(line),
      wrap: (store) => ({
        ...store,
        recordOutcome: (outcome) =>
          ++calls <= 20 ? Promise.reject(unavailable('full', 'full')) : store.recordOutcome(outcome),
      }),
    });
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 20);
    await harness.dispatcher.start();
    await receiver.received(20);
    await settle(50);
    harness.clock.advance(1_000);
    await harness.committed(20);
    expect(lines).toEqual([]);
    await harness.dispatcher.stop(0);
  });

  it('is checked every 15 s for work that was not announced', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.dispatcher.start();
    await harness.enqueue(id);
    await settle();
    expect(receiver.requests).toHaveLength(0);
    harness.clock.advance(15_000);
    await harness.committed(1);
    await harness.dispatcher.stop(0);
  });
});
