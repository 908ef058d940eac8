import { afterEach, beforeEach, expect, it } from 'vitest';
import { WINDOW_MS } from '../../src/dispatcher/throttle.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

const A_MINUTE = 10;

let receiver: Receiver;
let harness: Harness;
let id: string;

beforeEach(async () => {
  receiver = await startReceiver();
  harness = await createHarness();
  ({ id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: A_MINUTE }));
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

/** Stores deliveries and notifies the dispatcher. */
async function add(count: number, urgent: boolean): Promise<string[]> {
  const ids = await harness.enqueue(id, count, TENANT, urgent);
  harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
  return ids;
}

/** Waits until the rate limit allows more, and returns what was sent. */
async function nextPlaces(): Promise<string[]> {
  const before = harness.outcomes.length;
  harness.clock.advance(WINDOW_MS);
  await harness.committed(before + A_MINUTE);
  await settle(50);
  return harness.outcomes.slice(before).map(({ deliveryId }) => deliveryId);
}

it('an urgent delivery is sent first once the rate limit allows, ahead of all waiting ones', async () => {
  await harness.dispatcher.start();
  await add(200, false);
  await harness.committed(A_MINUTE);
  await settle(50);
  const [hot = ''] = await add(1, true);
  expect(await nextPlaces()).toContain(hot);
});

it('if more are urgent than the rate limit allows, one slot in four is for the oldest delivery', async () => {
  const old = await add(40, false);
  harness.clock.advance(1);
  await add(400, true);
  await harness.dispatcher.start();
  await harness.committed(A_MINUTE);
  await settle(50);
  // The first claim was made before the limit of the endpoint was known.
  const sent: string[] = [];
  for (let n = 0; n < 4; n++) sent.push(...(await nextPlaces()));
  expect(sent).toHaveLength(4 * A_MINUTE);
  expect(sent.filter((one) => old.includes(one))).toHaveLength(A_MINUTE);
});
