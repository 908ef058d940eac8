import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

const MINUTE = 60_000;
/** Paused endpoints are checked every 15 s. */
const BEAT = 15_000;

let receiver: Receiver;
let harness: Harness;
beforeEach(async () => {
  receiver = await startReceiver(status(500));
  harness = await createHarness();
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

/** An endpoint paused by 20 failures, with `waiting` deliveries that were never attempted. */
async function pausedEndpoint(settings: { auto_resume?: boolean; max_retries?: number } = {}, waiting = 5) {
  const { id } = await harness.endpoint({ url: receiver.url, ...settings });
  const ids = await harness.enqueue(id, 20 + waiting);
  await harness.dispatcher.start();
  await harness.committed(20);
  await settle();
  return { id, ids };
}

/** Advances time in intervals, so that everything started in each interval completes. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= BEAT) {
    harness.clock.advance(Math.min(left, BEAT));
    await settle(10);
  }
}

describe('a paused endpoint', () => {
  it('is probed with one delivery after 5, 10, 20, 40 and then every 60 minutes', async () => {
    await pausedEndpoint();
    const times = [harness.clock.monotonic()];
    while (times.length < 7) {
      await pass(BEAT);
      for (let seen = receiver.requests.length - 20; times.length <= seen; )
        times.push(harness.clock.monotonic());
    }
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    for (const [index, minutes] of [5, 10, 20, 40, 60, 60].entries()) {
      expect(gaps[index]).toBeGreaterThanOrEqual(minutes * MINUTE);
      expect(gaps[index]).toBeLessThanOrEqual(minutes * MINUTE + 2 * BEAT);
    }
  });

  it('is probed with each of its deliveries in turn, oldest first, without using up retries', async () => {
    const { ids } = await pausedEndpoint({ max_retries: 1 }, 2);
    await pass(5 * 60 * MINUTE);
    const probed = receiver.requests.slice(20).map((request) => String(request.headers['webhook-id']));
    const tried = new Set(receiver.requests.slice(0, 20).map((request) => request.headers['webhook-id']));
    expect(probed.length).toBeGreaterThan(4);
    expect(probed.slice(0, 2).sort()).toEqual(ids.filter((id) => !tried.has(id)).sort());
    expect(new Set(probed).size).toBe(probed.length);
    for (const id of probed) expect((await harness.delivery(id)).status).toBe('held');
    receiver.answer = status(200);
    await pass(2 * 60 * MINUTE);
    expect((await harness.delivery(probed[0] ?? '')).status).toBe('delivered');
  });

  it('is resumed by a 2xx to a probe, and its backlog is sent', async () => {
    const { id } = await pausedEndpoint();
    receiver.answer = status(200);
    await pass(5 * MINUTE + BEAT);
    await harness.committed(45);
    expect(await harness.store.getEndpoint(TENANT, id)).toMatchObject({
      status: 'active',
      pausedReason: null,
      consecutiveFailures: 0,
    });
    expect(receiver.requests).toHaveLength(45);
  });

  it('stays paused without auto_resume', async () => {
    const { id } = await pausedEndpoint({ auto_resume: false });
    await pass(2 * 60 * MINUTE);
    expect(receiver.requests).toHaveLength(20);
    expect((await harness.store.getEndpoint(TENANT, id))?.status).toBe('paused');
  });

  it('that responds to a probe with 410 is gone, and is not probed again', async () => {
    const { id } = await pausedEndpoint();
    receiver.answer = status(410);
    await pass(3 * 60 * MINUTE);
    expect(receiver.requests).toHaveLength(21);
    expect(await harness.store.getEndpoint(TENANT, id)).toMatchObject({
      status: 'paused',
      pausedReason: 'gone',
    });
  });

  it('is probed on schedule by the next process', async () => {
    await pausedEndpoint();
    await harness.dispatcher.stop(0);
    const next = harness.restart();
    await next.start();
    receiver.answer = status(200);
    await pass(5 * MINUTE + BEAT);
    await harness.committed(45);
    await next.stop(0);
  });
});
