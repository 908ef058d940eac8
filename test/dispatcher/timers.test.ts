import { expect, test } from 'vitest';
import { hang, startReceiver, status } from '../support/receiver.ts';
import { createHarness, settle, TENANT } from './harness.ts';

const ENDPOINTS = 25;
const A_LANE = 20;
/** The interval timer, the next due time, and the next deadline. */
const HANDFUL = 4;

test('hundreds of scheduled retries and requests in flight need only a handful of timers', async () => {
  const receiver = await startReceiver(status(500));
  const harness = await createHarness();
  const { clock, dispatcher } = harness;
  await dispatcher.start();
  const idle = clock.pending();

  for (let n = 0; n < ENDPOINTS; n++) {
    const { id } = await harness.endpoint({ url: receiver.url, retry_interval_seconds: 30 + n });
    await harness.enqueue(id, A_LANE - 1); // one more failure would pause it
    dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
    await harness.committed((n + 1) * (A_LANE - 1));
    clock.advance(7); // so that no two endpoints' retries are due together
  }
  const retries = new Set(harness.outcomes.map(({ next }) => (next.status === 'retrying' ? next.at : 0)));
  expect(retries.size).toBe(ENDPOINTS);

  receiver.answer = hang;
  const waiting = receiver.requests.length;
  for (let n = 0; n < ENDPOINTS; n++) {
    const timeout_seconds = 5 + n; // none times out before the last has started
    const { id } = await harness.endpoint({ url: receiver.url, timeout_seconds });
    await harness.enqueue(id, A_LANE);
    dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
  }
  for (const goal = waiting + ENDPOINTS * A_LANE; receiver.requests.length < goal; ) {
    clock.advance(10); // slots are released as stalled requests stop counting
    await settle(10);
  }
  expect(harness.outcomes).toHaveLength(waiting); // all of them are still in flight
  expect(clock.pending()).toBeLessThanOrEqual(idle + HANDFUL);

  await dispatcher.stop(0);
  await receiver.close();
});
