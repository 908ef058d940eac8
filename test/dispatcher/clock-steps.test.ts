import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle } from './harness.ts';

const HOUR = 3_600_000;

let receiver: Receiver;
let harness: Harness;
beforeEach(async () => {
  receiver = await startReceiver(status(500));
  harness = await createHarness();
  await harness.dispatcher.start();
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

describe.each([
  ['forward', HOUR],
  ['back', -HOUR],
])('when the clock is set %s by an hour', (_, stepMs) => {
  it('a retry happens as scheduled, neither immediately nor an hour late', async () => {
    const { id } = await harness.endpoint({ url: receiver.url, retry_interval_seconds: 600 });
    await harness.enqueue(id);
    harness.clock.advance(15_000);
    await harness.committed(1);
    harness.clock.advance(60_000);
    harness.clock.stepWall(stepMs);
    harness.clock.advance(600_000 - 60_000 - 15_000);
    await settle(50);
    expect(receiver.requests).toHaveLength(1);
    for (let i = 0; i < 3; i++) {
      harness.clock.advance(15_000);
      await settle(20);
    }
    expect(receiver.requests).toHaveLength(2);
  });

  it('new deliveries are sent immediately', async () => {
    receiver.answer = status(200);
    const { id } = await harness.endpoint({ url: receiver.url });
    harness.clock.stepWall(stepMs);
    await harness.enqueue(id);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await harness.committed(1);
    expect(receiver.requests).toHaveLength(1);
  });

  it('a paused endpoint is probed five minutes later, neither immediately nor after an hour', async () => {
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 21);
    harness.clock.advance(15_000);
    await harness.committed(20);
    await settle();
    harness.clock.stepWall(stepMs);
    for (let passed = 0; passed < 285_000; passed += 15_000) {
      harness.clock.advance(15_000);
      await settle(20);
    }
    expect(receiver.requests).toHaveLength(20);
    for (let i = 0; i < 3; i++) {
      harness.clock.advance(15_000);
      await settle(20);
    }
    expect(receiver.requests).toHaveLength(21);
  });

  it('deliveries waiting for the rate limit are sent within it', async () => {
    receiver.answer = status(200);
    const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 10 });
    await harness.enqueue(id, 25);
    harness.clock.advance(15_000);
    await harness.committed(10);
    harness.clock.stepWall(stepMs);
    await settle();
    harness.clock.advance(45_000);
    await settle(50);
    expect(receiver.requests).toHaveLength(10);
    harness.clock.advance(20_000);
    await harness.committed(20);
    expect(receiver.requests).toHaveLength(20);
  });
});
