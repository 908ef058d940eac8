import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

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

describe('an endpoint changed while deliveries are claimed ahead', () => {
  it('receives the rest with its new settings, and nothing twice', async () => {
    const second = await startReceiver();
    const open: ServerResponse[] = [];
    receiver.answer = (response) => void open.push(response);
    const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 1_000 });
    await harness.enqueue(id, 60);
    await harness.dispatcher.start();
    await receiver.received(20);
    const endpoint = await harness.store.getEndpoint(TENANT, id);
    if (endpoint === null) throw new Error('the endpoint is there');
    const settings = { ...endpoint.settings, url: second.url };
    expect(await harness.store.updateEndpoint({ ...endpoint, settings }, harness.clock.now())).toBe(
      'updated',
    );
    harness.dispatcher.endpointChanged(id);
    for (const response of open) response.end();
    await harness.committed(60);
    expect([receiver.requests.length, second.requests.length]).toEqual([20, 40]);
    const ids = [...receiver.requests, ...second.requests].map((request) => request.headers['webhook-id']);
    expect(new Set(ids).size).toBe(60);
    await second.close();
  });

  it('receives nothing after it is paused manually, and the rest once it is resumed', async () => {
    const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 20 });
    await harness.enqueue(id, 40);
    await harness.dispatcher.start();
    await harness.committed(20);
    await harness.store.pauseEndpoint(TENANT, id, harness.clock.now());
    harness.dispatcher.endpointChanged(id);
    harness.clock.advance(120_000);
    await settle(50);
    expect(receiver.requests).toHaveLength(20);
    const step = { tenantId: TENANT, id, now: harness.clock.now(), endpointLimit: null, limit: 100 };
    expect(await harness.store.resumeEndpoint(step)).toBe('resumed');
    harness.dispatcher.endpointChanged(id);
    await harness.committed(40);
    expect(receiver.requests).toHaveLength(40);
  });

  it('is ignored if the endpoint has no lane', () => {
    expect(() => harness.dispatcher.endpointChanged('whk_unknown')).not.toThrow();
  });
});

describe('a delivery that cannot be prepared', () => {
  it('becomes a dead letter immediately with its reason, does not count as a failure, and delays nothing', async () => {
    const bad = await harness.endpoint({ url: receiver.url });
    const good = await harness.endpoint({ url: receiver.url });
    const [poison = ''] = await harness.enqueue(bad.id);
    const [healthy = ''] = await harness.enqueue(good.id);
    const stored = await harness.store.getEndpoint(TENANT, bad.id);
    if (stored === null) throw new Error('the endpoint is there');
    await harness.store.updateEndpoint(
      { ...stored, secretBox: new Uint8Array([1, 2, 3]) },
      harness.clock.now(),
    );
    await harness.dispatcher.start();
    await harness.committed(2);
    expect((await harness.delivery(healthy)).status).toBe('delivered');
    const log = await harness.delivery(poison);
    expect([log.status, log.attempts[0]?.error?.code]).toEqual(['dead', 'internal']);
    expect(await harness.store.getEndpoint(TENANT, bad.id)).toMatchObject({
      status: 'active',
      consecutiveFailures: 0,
    });
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('test deliveries', () => {
  let sent = 0;
  const send = async (id: string) => {
    const endpoint = await harness.store.getEndpoint(TENANT, id);
    if (endpoint === null) throw new Error('the endpoint is there');
    return await harness.dispatcher.sendTest({ endpoint, deliveryId: `dlv_test${++sent}`, body: '{"a":1}' });
  };

  it('are signed, return their result, and affect neither the failure count nor a pause', async () => {
    receiver.answer = status(503, {}, 'busy');
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.store.pauseEndpoint(TENANT, id, harness.clock.now());
    await harness.dispatcher.start();
    const answer = await send(id);
    if (answer.kind !== 'sent') throw new Error('there is room');
    expect(answer.record).toMatchObject({
      attempt: 1,
      response: { status: 503, body: 'busy' },
      error: { code: 'http_status' },
    });
    expect(receiver.requests[0]?.headers['webhook-id']).toBe(`dlv_test${sent}`);
    expect(await harness.store.getEndpoint(TENANT, id)).toMatchObject({
      pausedReason: 'manual',
      consecutiveFailures: 0,
    });
  });

  it('count towards the rate limit, in this process and in the next one', async () => {
    const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 2 });
    await harness.dispatcher.start();
    expect([(await send(id)).kind, (await send(id)).kind]).toEqual(['sent', 'sent']);
    expect(await send(id)).toEqual({ kind: 'throttled', retryAfterMs: 60_250 });
    expect(receiver.requests).toHaveLength(2);
    await harness.enqueue(id);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
    await settle(50);
    expect(receiver.requests).toHaveLength(2);
    await harness.dispatcher.stop(0);
    const next = harness.restart();
    await next.start();
    await settle(50);
    expect(receiver.requests).toHaveLength(2);
    harness.clock.advance(60_300);
    await harness.committed(1);
    await next.stop(0);
  });

  it('are rejected by a dispatcher that is not running', async () => {
    const { id } = await harness.endpoint({ url: receiver.url });
    await expect(send(id)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
