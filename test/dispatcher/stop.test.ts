import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hang, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, settle } from './harness.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

describe('stopping', () => {
  it('waits for requests in flight and their commits, and starts nothing', async () => {
    const open: ServerResponse[] = [];
    receiver.answer = (response) => void open.push(response);
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 30);
    await harness.dispatcher.start();
    await receiver.received(20);
    const stopped = harness.dispatcher.stop(30_000);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    for (const response of open) response.end();
    await stopped;
    expect(receiver.requests).toHaveLength(20);
    expect(harness.outcomes).toHaveLength(20);
  });

  it('cancels requests after the grace period; the next start sends them again with the same ID', async () => {
    receiver.answer = hang;
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    const [deliveryId = ''] = await harness.enqueue(id);
    await harness.dispatcher.start();
    await receiver.received(1);
    const stopped = harness.dispatcher.stop(3_000);
    harness.clock.advance(3_000);
    await stopped;
    await settle();
    expect(harness.outcomes).toHaveLength(0);

    receiver.answer = status(200);
    const next = harness.restart();
    await next.start();
    await harness.committed(1);
    expect(receiver.requests.map((request) => request.headers['webhook-id'])).toEqual([
      deliveryId,
      deliveryId,
    ]);
    expect((await harness.delivery(deliveryId)).status).toBe('delivered');
    await next.stop(0);
  });
});

describe('an attempt that outlives its lease', () => {
  it('is logged but does not change the delivery', async () => {
    const open: ServerResponse[] = [];
    receiver.answer = (response) => void open.push(response);
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    const [deliveryId = ''] = await harness.enqueue(id);
    await harness.dispatcher.start();
    await receiver.received(1);

    const other = harness.restart(); // takes the lease over, as if this process had crashed
    await other.start();
    await receiver.received(2);
    open[1]?.writeHead(500).end();
    await harness.committed(1);
    open[0]?.end();
    await harness.committed(2);
    const log = await harness.delivery(deliveryId);
    expect([log.status, log.attemptCount, log.attempts.length]).toEqual(['retrying', 1, 2]);
    await harness.dispatcher.stop(0);
    await other.stop(0);
  });
});
