import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { close, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, settle } from './harness.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

describe('a kept-alive connection', () => {
  it('is replaced once, within the attempt, if the receiver closes it instead of responding', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.dispatcher.start();
    await harness.enqueue(id);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await harness.committed(1);
    await settle();

    receiver.answer = (response, request, socket) =>
      (request.connection === 1 ? close : status(200))(response, request, socket);
    const [second = ''] = await harness.enqueue(id);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await harness.committed(2);
    const log = await harness.delivery(second);
    expect([log.status, log.attemptCount]).toEqual(['delivered', 1]);
    expect(receiver.requests.map((request) => request.connection)).toEqual([1, 1, 2]);
    await harness.dispatcher.stop(0);
  });

  it('is replaced only within the rate limit; otherwise the delivery waits without a failure', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 30 });
    await harness.dispatcher.start();
    await harness.enqueue(id, 20);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await harness.committed(20);
    await settle();

    receiver.answer = (response, request, socket) =>
      (request.connection <= 20 ? close : status(200))(response, request, socket);
    await harness.enqueue(id, 20);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await settle(100);
    expect(receiver.requests).toHaveLength(30);
    harness.clock.advance(60_000);
    await settle(50);
    expect(receiver.requests).toHaveLength(30);
    harness.clock.advance(300);
    await harness.committed(40);
    expect(harness.outcomes.map(({ attempt }) => [attempt.attempt, attempt.error])).toEqual(
      harness.outcomes.map(() => [1, null]),
    );
    await harness.dispatcher.stop(0);
  });

  it('is not replaced a second time; instead, the attempt fails', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.dispatcher.start();
    await harness.enqueue(id);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await harness.committed(1);
    await settle();

    receiver.answer = close;
    const [second = ''] = await harness.enqueue(id);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await harness.committed(2);
    expect((await harness.delivery(second)).attempts[0]?.error?.code).toBe('connection_reset');
    expect(receiver.requests).toHaveLength(3);
    await harness.dispatcher.stop(0);
  });
});
