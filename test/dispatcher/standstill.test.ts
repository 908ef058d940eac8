import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, type Harness, settle } from './harness.ts';

let receiver: Receiver;
let harness: Harness;
beforeEach(async () => {
  receiver = await startReceiver();
  harness = await createHarness();
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

test.each([
  ['a minute', 61_000],
  ['an hour', 3_600_000],
])('after %s of standing still an endpoint gets its limit and no more', async (_, stillMs) => {
  const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 15 });
  await harness.enqueue(id, 100);
  await harness.dispatcher.start();
  await harness.committed(15);
  harness.clock.advance(stillMs); // in one go: every timer fires late, and nothing happens in between
  await harness.committed(30);
  await settle(100);
  expect(receiver.requests).toHaveLength(30);
  harness.clock.advance(59_000);
  await settle(100);
  expect(receiver.requests).toHaveLength(30);
  harness.clock.advance(2_000);
  await harness.committed(45);
  expect(harness.outcomes.every(({ attempt }) => attempt.error === null)).toBe(true);
});
