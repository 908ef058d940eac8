import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Taking } from '../../src/store/delivery-store.ts';
import type { Store } from '../../src/store/store.ts';
import { storeSignals } from '../../src/webhooks/signal-commits.ts';
import { hang, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { aRoutedEvent, aSignal } from '../support/store.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

let receiver: Receiver;
let harness: Harness;
let claims = 0;
let taken: string[] = [];
let beforeCommit: (taking: Taking) => Promise<void> = async () => {};

const watch = (store: Store): Store => ({
  ...store,
  claimDeliveries(request) {
    claims += request.lanes.length;
    return store.claimDeliveries(request);
  },
  async commitSignalsInHand(signals, taking) {
    await beforeCommit(taking);
    const stored = await store.commitSignalsInHand(signals, taking);
    taken.push(...stored.taken);
    return stored;
  },
});

beforeEach(async () => {
  beforeCommit = async () => {};
  receiver = await startReceiver();
  harness = await createHarness({ wrap: watch });
  harness.store.onCommitted(({ due }) => harness.dispatcher.nudge(due));
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

/** Stores one signal whose event has this many deliveries to the endpoint, as the API does. */
async function post(endpointId: string, deliveries = 1, store = harness.store): Promise<string[]> {
  const events = Array.from({ length: deliveries }, () => aRoutedEvent(TENANT, [endpointId]));
  for (const { event } of events) event.createdAt = harness.clock.now();
  const signals = [aSignal(TENANT, { events })];
  await storeSignals({ store, reserve: harness.dispatcher.reserve }, signals);
  return events.flatMap((event) => event.deliveries.map(({ id }) => id));
}

/** An endpoint that this process has already sent to. */
async function known(settings: object = {}): Promise<string> {
  const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 1_000, ...settings });
  await harness.dispatcher.start();
  await post(id);
  await harness.committed(1);
  await settle();
  claims = 0;
  taken = [];
  return id;
}

describe('a delivery whose endpoint is known, active, and has a free slot', () => {
  it('is sent once without a claim, and is logged like any other', async () => {
    const id = await known();
    const [delivery = ''] = await post(id);
    await harness.committed(2);
    await settle();
    expect([claims, receiver.requests.length]).toEqual([0, 2]);
    expect(await harness.delivery(delivery)).toMatchObject({
      status: 'delivered',
      attempts: [{ attempt: 1 }],
    });
  });

  it('is sent completely, including the tail of a payload format', async () => {
    const id = await known();
    const event = aRoutedEvent(TENANT, [id]);
    event.event.createdAt = harness.clock.now();
    for (const delivery of event.deliveries) {
      delivery.body = '{"signal_id":"sig_1",';
      delivery.tail = { hash: 'h', text: '"team":"sales"}', bytes: 15 };
    }
    const signals = [aSignal(TENANT, { events: [event] })];
    await storeSignals({ store: harness.store, reserve: harness.dispatcher.reserve }, signals);
    await harness.committed(2);
    expect(harness.outcomes.at(-1)?.attempt.error).toBeNull();
    expect([claims, taken.length]).toEqual([0, 1]);
    expect(JSON.parse(receiver.requests[1]?.body ?? '')).toMatchObject({ signal_id: 'sig_1', team: 'sales' });
  });

  it('waits for a claim if its body is large', async () => {
    const id = await known();
    const event = aRoutedEvent(TENANT, [id]);
    event.event.createdAt = harness.clock.now();
    for (const delivery of event.deliveries) delivery.body = JSON.stringify({ text: 'x'.repeat(100_000) });
    const signals = [aSignal(TENANT, { events: [event] })];
    await storeSignals({ store: harness.store, reserve: harness.dispatcher.reserve }, signals);
    await harness.committed(2);
    expect([claims, taken.length, receiver.requests.length]).toEqual([1, 0, 2]);
  });

  it('is sent without a claim even after its lane has been removed', async () => {
    const id = await known();
    harness.clock.advance(600_000);
    await settle();
    claims = 0;
    await post(id);
    await harness.committed(2);
    expect(claims).toBe(0);
  });

  it('is leased in its own commit: another process on the same file cannot claim it', async () => {
    receiver.answer = status(200);
    const id = await known();
    receiver.answer = hang;
    const [delivery = ''] = await post(id);
    await receiver.received(2);
    const now = harness.clock.now();
    const [claim] = await harness.store.claimDeliveries({
      lanes: [{ endpointId: id, limit: 10, knownVersion: -1, held: [] }],
      ...{ now, leaseUntil: now + 60_000, leaseToken: 'lease_other' },
    });
    expect(claim?.deliveries).toEqual([]);
    // Requests that may have been sent before a kill at this point count towards the next process's limit.
    expect((await harness.store.recentAttempts(now - 60_000, now)).get(id)).toHaveLength(2);
    expect((await harness.delivery(delivery)).status).toBe('pending');
  });

  it('fails, is retried, and counts like any other', async () => {
    const id = await known();
    receiver.answer = status(500);
    const [delivery = ''] = await post(id);
    await harness.committed(2);
    expect((await harness.delivery(delivery)).status).toBe('retrying');
    expect((await harness.store.getEndpoint(TENANT, id))?.consecutiveFailures).toBe(1);
    receiver.answer = status(200);
    harness.clock.advance(2_000);
    await harness.committed(3);
    expect((await harness.delivery(delivery)).status).toBe('delivered');
  });
});

describe('a delivery that cannot be sent immediately', () => {
  it('waits for the rate limit: an endpoint with a limit of ten per minute gets ten', async () => {
    const id = await known({ rate_limit_per_minute: 10 });
    for (let n = 0; n < 30; n++) await post(id);
    await harness.committed(10);
    await settle(100);
    expect(receiver.requests).toHaveLength(10);
    harness.clock.advance(60_250);
    await harness.committed(20);
    await settle(100);
    expect(receiver.requests).toHaveLength(20);
  });

  it('follows the backlog without overtaking it', async () => {
    const id = await known({ rate_limit_per_minute: 10 });
    await harness.enqueue(id, 20);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
    await harness.committed(10);
    harness.clock.advance(1);
    const [late = ''] = await post(id);
    harness.clock.advance(60_250);
    await harness.committed(20);
    await settle(50);
    expect(harness.outcomes.map(({ deliveryId }) => deliveryId)).not.toContain(late);
    harness.clock.advance(60_250);
    await harness.committed(22);
    expect((await harness.delivery(late)).status).toBe('delivered');
  });

  it.each<[string, (id: string) => Promise<unknown>, number]>([
    ['paused', (id) => harness.store.pauseEndpoint(TENANT, id, harness.clock.now()), 1],
    ['changed', (id) => change(id, { rate_limit_per_minute: 999 }), 2],
    ['deleted', (id) => harness.store.deleteEndpoint(TENANT, id, harness.clock.now()), 1],
  ])(
    'because its endpoint was %s while it was being stored, follows the stored state',
    async (_, act, sent) => {
      const id = await known();
      beforeCommit = async () => {
        beforeCommit = async () => {};
        await act(id);
      };
      await post(id);
      if (sent === 2) await harness.committed(2);
      await settle(100);
      expect(receiver.requests).toHaveLength(sent);
    },
  );

  it('because its signal is a duplicate is not stored, and its slot is released', async () => {
    const id = await known({ rate_limit_per_minute: 2 });
    await harness.store.commitSignals([aSignal(TENANT, { externalId: 'post-1' })]);
    const events = [aRoutedEvent(TENANT, [id])];
    const signal = aSignal(TENANT, { externalId: 'post-1', events });
    const { reserve } = harness.dispatcher;
    const committed = await storeSignals({ store: harness.store, reserve }, [signal]);
    expect([committed[0]?.status, taken.length]).toEqual(['duplicate', 0]);
    await post(id);
    await harness.committed(2);
    expect(receiver.requests).toHaveLength(2);
  });

  it('because its request has an idempotency key is claimed: a rerun must find no reservation', async () => {
    const id = await known();
    const request = { tenantId: TENANT, route: 'POST /v1/signals', key: 'k', fingerprint: '' };
    const held = { request, token: 't', seed: 's', startedAt: 0, steps: [] };
    await post(id, 1, harness.store.keeping(held));
    await harness.committed(2);
    expect([claims, receiver.requests.length]).toEqual([1, 2]);
  });

  it('because its request is repeated while it is in flight is not sent twice', async () => {
    const id = await known();
    receiver.answer = hang;
    const request = { tenantId: TENANT, route: 'POST /v1/signals', key: 'k', fingerprint: '' };
    const reservation = { token: 't', now: harness.clock.now(), expiresAt: harness.clock.now() + 60_000 };
    const first = await harness.store.reserveKey({ ...request }, reservation);
    if (first.state !== 'held') throw new Error('the key is free');
    const events = [aRoutedEvent(TENANT, [id])];
    for (const { event } of events) event.createdAt = harness.clock.now();
    const signal = aSignal(TENANT, { events });
    await harness.store.keeping(first.held).commitSignals([signal]); // and its process is killed before it responds
    await harness.store.releaseKey(request, 't');
    await receiver.received(2);
    claims = 0;

    const second = await harness.store.reserveKey({ ...request }, { ...reservation, token: 'u' });
    if (second.state !== 'held') throw new Error('the key is free again');
    const store = harness.store.keeping(second.held);
    const { reserve } = harness.dispatcher;
    const committed = await storeSignals({ store, reserve }, [signal]);
    await settle(100);
    expect(committed).toMatchObject([{ status: 'created', id: signal.id }]);
    expect([taken.length, receiver.requests.length]).toEqual([0, 2]);
  });

  it('because the store failed is not stored, and its slot is released', async () => {
    const id = await known({ rate_limit_per_minute: 2 });
    beforeCommit = async () => {
      beforeCommit = async () => {};
      throw new Error('the disk is full');
    };
    await expect(post(id)).rejects.toThrow('the disk is full');
    await post(id);
    await harness.committed(2);
    expect([receiver.requests.length, claims]).toEqual([2, 0]);
  });
});

async function change(id: string, settings: object): Promise<void> {
  const endpoint = await harness.store.getEndpoint(TENANT, id);
  if (endpoint === null) throw new Error('the endpoint is there');
  await harness.store.updateEndpoint(
    { ...endpoint, settings: { ...endpoint.settings, ...settings } },
    harness.clock.now(),
  );
}
