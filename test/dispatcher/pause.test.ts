import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

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

const stateOf = async (id: string) => await harness.store.getEndpoint(TENANT, id);

describe('an endpoint whose attempts fail', () => {
  it('is paused by the 20th consecutive failure of any delivery, and receives nothing more', async () => {
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 55);
    await harness.dispatcher.start();
    await harness.committed(20);
    await settle();
    expect(await stateOf(id)).toMatchObject({
      status: 'paused',
      pausedReason: 'failures',
      pausedAt: harness.clock.now(),
      consecutiveFailures: 20,
      version: 2,
    });
    harness.clock.advance(299_000);
    await settle(50);
    expect(receiver.requests).toHaveLength(20);
    const first = String(receiver.requests[0]?.headers['webhook-id']);
    expect((await harness.delivery(first)).attempts).toHaveLength(1);
  });

  it('is paused only once, even if more requests in flight fail', async () => {
    const answers: ServerResponse[] = [];
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 19);
    await harness.dispatcher.start();
    await harness.committed(19);
    expect((await stateOf(id))?.status).toBe('active');
    receiver.answer = (response) => void answers.push(response);
    await harness.enqueue(id, 20);
    harness.clock.advance(15_000);
    await receiver.received(39);
    for (const response of answers) response.writeHead(500).end();
    await harness.committed(39);
    expect(await stateOf(id)).toMatchObject({ status: 'paused', version: 2, consecutiveFailures: 39 });
  });

  it('starts counting from zero after any success', async () => {
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 19);
    await harness.dispatcher.start();
    await harness.committed(19);
    receiver.answer = status(204);
    await harness.enqueue(id, 1);
    harness.clock.advance(15_000);
    await harness.committed(20);
    expect(await stateOf(id)).toMatchObject({ status: 'active', consecutiveFailures: 0 });
  });

  it('stays paused if a request in flight succeeds afterwards', async () => {
    const open: ServerResponse[] = [];
    let calls = 0;
    receiver.answer = (response) => {
      if (++calls === 1) open.push(response);
      else response.writeHead(500).end();
    };
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 30);
    await harness.dispatcher.start();
    await harness.committed(29);
    expect((await stateOf(id))?.status).toBe('paused');
    open[0]?.writeHead(200).end();
    await harness.committed(30);
    const paused = { status: 'paused', pausedReason: 'failures', consecutiveFailures: 0 };
    expect(await stateOf(id)).toMatchObject(paused);
    await settle(50);
    expect(receiver.requests).toHaveLength(30);
  });

  it('is paused immediately by a 410, as gone, and is not probed', async () => {
    receiver.answer = status(410);
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 1);
    await harness.dispatcher.start();
    await harness.committed(1);
    expect(await stateOf(id)).toMatchObject({
      status: 'paused',
      pausedReason: 'gone',
      consecutiveFailures: 1,
    });
    harness.clock.advance(3_600_000);
    await settle(50);
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('an attempt that reveals nothing about the receiver', () => {
  it('does not change the failure count if the target is forbidden', async () => {
    const blocked = await createHarness({ allow: [] });
    const { id } = await blocked.endpoint({ url: receiver.url });
    await blocked.enqueue(id, 25);
    await blocked.dispatcher.start();
    await blocked.committed(25);
    const endpoint = await blocked.store.getEndpoint(TENANT, id);
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 0 });
    await blocked.dispatcher.stop(0);
  });
});
