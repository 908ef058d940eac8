import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hang, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, settle } from './harness.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

describe('endpoints', () => {
  it('that stall are limited to twenty requests in flight, and do not delay others', async () => {
    receiver.answer = (response, request, socket) =>
      (request.path === '/slow' ? hang : status(200))(response, request, socket);
    const harness = await createHarness();
    const base = new URL(receiver.url).origin;
    const slow = await harness.endpoint({ url: `${base}/slow`, rate_limit_per_minute: 1_000 });
    const fast = await harness.endpoint({ url: `${base}/fast`, rate_limit_per_minute: 1_000 }, 'ten_b');
    await harness.enqueue(slow.id, 100);
    await harness.dispatcher.start();
    await receiver.received(20);
    await harness.enqueue(fast.id, 100, 'ten_b');
    harness.dispatcher.nudge([{ endpointId: fast.id, tenantId: 'ten_b' }]);
    await harness.committed(100);
    expect(harness.outcomes.every((outcome) => outcome.endpointId === fast.id)).toBe(true);
    expect(receiver.requests.filter((request) => request.path === '/slow')).toHaveLength(20);
    await harness.dispatcher.stop(0);
  });

  it('are limited to their requests per minute; the rest wait and do not fail', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 70);
    await harness.dispatcher.start();
    await harness.committed(60);
    harness.clock.advance(60_000);
    await settle();
    expect(receiver.requests).toHaveLength(60);
    harness.clock.advance(1_000);
    await harness.committed(70);
    expect(harness.outcomes.every((outcome) => outcome.next.status === 'delivered')).toBe(true);
    await harness.dispatcher.stop(0);
  });

  it('keep their rate limit across a restart', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 70);
    await harness.dispatcher.start();
    await harness.committed(60);
    await harness.dispatcher.stop(1_000);
    harness.clock.advance(10_000);
    const next = harness.restart();
    await next.start();
    await settle(50);
    expect(receiver.requests).toHaveLength(60);
    harness.clock.advance(51_000);
    await harness.committed(70);
    await next.stop(0);
  });
});
