import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, settle } from './harness.ts';

const HOLES = 100;
const IN_FLIGHT_PER_ENDPOINT = 20;
const HEALTHY = 100;
/** Half of what a healthy endpoint's slowest deliveries may take. */
const SOON_MS = 1_000;

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

test('a hundred endpoints whose names never resolve do not delay the deliveries of another tenant', async () => {
  let asked = 0;
  const lookup = () => {
    asked++;
    return new Promise<string[]>(() => {});
  };
  const harness = await createHarness({ network: { lookup } });
  const timersBefore = harness.clock.pending();
  for (let n = 0; n < HOLES; n++) {
    const { id } = await harness.endpoint({ url: `https://hole${n}.example.com/` });
    await harness.enqueue(id, 60);
  }
  await harness.dispatcher.start();
  while (asked < HOLES * IN_FLIGHT_PER_ENDPOINT) {
    harness.clock.advance(50);
    await settle(5);
  }
  // The beat that looks for forgotten work, the next deadline, and the count of stalled places.
  expect(harness.clock.pending() - timersBefore).toBeLessThanOrEqual(4);

  const healthy = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 1_000 }, 'ten_b');
  await harness.enqueue(healthy.id, HEALTHY, 'ten_b');
  harness.dispatcher.nudge([{ endpointId: healthy.id, tenantId: 'ten_b' }]);
  for (let passed = 0; passed < SOON_MS && receiver.requests.length < HEALTHY; passed += 50) {
    await settle(50);
    harness.clock.advance(50);
  }
  expect(receiver.requests).toHaveLength(HEALTHY);
  await harness.dispatcher.stop(0);
});
