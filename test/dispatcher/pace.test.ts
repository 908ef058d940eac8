import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

const BEAT = 15_000;
const FIRST_PROBE = 300_000;

let receiver: Receiver;
let harness: Harness;
beforeEach(async () => {
  receiver = await startReceiver();
  harness = await createHarness();
  await harness.dispatcher.start();
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

test('the backlog of a resumed endpoint is sent within the rate limit', async () => {
  const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 10 });
  await harness.store.pauseEndpoint(TENANT, id, harness.clock.now());
  await harness.enqueue(id, 25);
  harness.clock.advance(120_000);
  await settle();
  expect(receiver.requests).toHaveLength(0);

  const step = { tenantId: TENANT, id, now: harness.clock.now(), endpointLimit: null, limit: 100 };
  expect(await harness.store.resumeEndpoint(step)).toBe('resumed');
  harness.dispatcher.endpointChanged(id);
  harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
  for (const [sent, minute] of [
    [10, 60_000],
    [20, 60_000],
    [25, 0],
  ] as const) {
    await harness.committed(sent);
    harness.clock.advance(minute);
    await settle(50);
    expect(receiver.requests).toHaveLength(sent);
    harness.clock.advance(300); // the window is this much longer than a minute, plus the precision of the timer
  }
});

test('a probe waits for the rate limit like any other request', async () => {
  receiver.answer = status(500);
  const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 20 });
  await harness.enqueue(id, 21);
  harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
  await harness.committed(20);
  await settle();
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= BEAT) {
      harness.clock.advance(Math.min(left, BEAT));
      await settle(10);
    }
  };
  await pass(FIRST_PROBE - BEAT);
  const endpoint = await harness.store.getEndpoint(TENANT, id);
  if (endpoint === null) throw new Error('the endpoint is there');
  for (let n = 0; n < 20; n++) {
    const answer = await harness.dispatcher.sendTest({
      endpoint,
      deliveryId: `dlv_test${n}`,
      body: '{"a":1}',
    });
    expect(answer.kind).toBe('sent');
  }
  await pass(4 * BEAT); // the probe has been due for three intervals
  expect(receiver.requests).toHaveLength(40);
  await pass(2 * BEAT);
  expect(receiver.requests).toHaveLength(41);
  expect(receiver.requests[40]?.headers['webhook-id']).not.toMatch(/^dlv_test/);
});
