import { expect } from 'vitest';
import { DELIVERY_STATUSES } from '../../../src/model/delivery.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  type Expected,
  type ExpectedEndpoint,
  endpointOf,
  type Flight,
  shown,
  waitingFor,
} from './expected.ts';

const TENANT = 'ten_a';

/**
 * Compares what should have changed since the last check with the store; `all`: everything, including what should not
 * have changed. That is the most expensive, so it is done occasionally, and at the end.
 */
export async function verify(
  expected: Expected,
  { store, seen }: { store: Store; seen: Map<string, string> },
  all = false,
): Promise<void> {
  for (const delivery of expected.deliveries.values()) {
    const endpoint = endpointOf(expected, delivery.endpointId);
    const status = shown(delivery, endpoint);
    const now = `${status} ${JSON.stringify(delivery)}`;
    if (!all && seen.get(delivery.id) === now) continue;
    seen.set(delivery.id, now);
    const stored = await store.getDelivery(TENANT, delivery.id);
    const planned = status === 'pending' || status === 'retrying' ? delivery.dueAt : null;
    expect(stored).toMatchObject({
      ...{ id: delivery.id, status, attemptCount: delivery.attempts, nextAttemptAt: planned },
      ...{ expiresAt: delivery.expiresAt, body: delivery.hasBody ? delivery.body : null },
    });
    expect(stored?.attempts).toHaveLength(delivery.logged);
    expect(delivery.logged).toBeGreaterThanOrEqual(delivery.attempts); // no counted attempt is missing
  }
  const mail = await store.listMail(TENANT, 500);
  for (const endpoint of expected.endpoints.values()) {
    const stored = await store.getEndpoint(TENANT, endpoint.id);
    if (endpoint.deleted) expect(stored).toBeNull();
    else
      expect(stored).toMatchObject({
        ...{ status: endpoint.paused === null ? 'active' : 'paused', pausedReason: endpoint.paused },
        ...{ pausedAt: endpoint.pausedAt, consecutiveFailures: endpoint.failures },
      });
    await expectProbe(expected, endpoint, store);
    const told = mail.filter(({ facts }) => 'endpointId' in facts && facts.endpointId === endpoint.id);
    expect(told).toHaveLength(endpoint.mails);
  }
  expectOneHolder(expected);
}

/** Expects the endpoint's probe at its planned time and not before, if a delivery is waiting. */
async function expectProbe(expected: Expected, endpoint: ExpectedEndpoint, store: Store): Promise<void> {
  const isDue = async (at: number) =>
    (await store.listDueProbes(at, 100)).some(({ endpointId }) => endpointId === endpoint.id);
  const { probeAt, deleted } = endpoint;
  if (probeAt === null || deleted) {
    expect(await isDue(Number.MAX_SAFE_INTEGER)).toBe(false);
    return;
  }
  const waits = waitingFor(expected, endpoint.id).length > 0;
  expect([await isDue(probeAt - 1), await isDue(probeAt)]).toEqual([false, waits]);
}

/** While leases are valid, no two processes hold a delivery for the same attempt. */
function expectOneHolder({ flights, tokens, endpoints }: Expected): void {
  const holders = new Map<string, string>();
  for (const flight of flights) {
    const lease = endpoints.get(flight.endpointId)?.lease;
    if (!tokens.includes(flight.token) || lease?.token !== flight.token) continue;
    const holder = holders.get(keyOf(flight)) ?? flight.token;
    expect(holder).toBe(flight.token);
    holders.set(keyOf(flight), flight.token);
  }
}

const keyOf = ({ deliveryId, attempt }: Flight) => `${deliveryId} ${attempt}`;

/** Lists by status: each accepted delivery is in exactly one list, and the lists contain no others. */
export async function verifyLists(expected: Expected, { store }: { store: Store }): Promise<void> {
  const listed: string[] = [];
  for (const status of DELIVERY_STATUSES) {
    const none = { endpointId: null, eventType: null, eventId: null, from: null, to: null };
    const { rows } = await store.listDeliveries(TENANT, { ...none, status, limit: 10_000, after: null });
    listed.push(...rows.map(({ id }) => `${id} ${status}`));
  }
  const should = [...expected.deliveries.values()].map(
    (one) => `${one.id} ${shown(one, endpointOf(expected, one.endpointId))}`,
  );
  expect(listed.sort()).toEqual(should.sort());
}
