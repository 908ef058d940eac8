import { expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '../../src/model/delivery.ts';
import type { EventRow, Remainder } from '../../src/model/event.ts';
import { shapeOf } from '../../src/model/payload-shape.ts';
import type { Signal } from '../../src/model/signal.ts';
import { type WebhookInput, webhookInputSchema } from '../../src/model/webhook.ts';
import { countDeliveries } from '../../src/store/changes/event-bundles.ts';
import type { Receiver } from '../../src/store/endpoint-store.ts';
import {
  commitRouted,
  fanOut,
  type RouteDeps,
  routeChanges,
  skipReason,
} from '../../src/webhooks/fan-out.ts';
import { SIGNATURE_MEMBER_BYTES } from '../../src/webhooks/signature.ts';
import { createManualClock } from '../support/manual-clock.ts';

const event: EventRow = {
  id: 'evt_1',
  tenantId: 'ten_1',
  type: 'signal.detected',
  subjectId: 'sig_1',
  data: '{}',
  createdAt: 0,
};
const signal = {
  signal_type: 'review',
  classification: 'warm',
  icp_score: 55,
  icp_profile_id: 'icp_1',
} as Signal;

function endpoint(settings: Partial<WebhookInput> = {}): Receiver {
  const input = webhookInputSchema.parse({ url: 'https://receiver.example/', ...settings });
  return { id: 'whk_1', mode: 'push', settings: input, shape: null };
}

test('an event to very many endpoints has lists of deliveries for commits of their own', async () => {
  const endpoints = Array.from({ length: 1_125 }, (_, n) => ({ ...endpoint(), id: `whk_${n}` }));
  let made = 0;
  const body = '{}';
  const routed = await fanOut(
    event,
    () => ({ body }),
    endpoints,
    () => `dlv_${made++}`,
    signal,
  );
  expect(routed.deliveries.length).toBe(250);
  expect(
    routed.remainders?.map(({ bundles }) =>
      bundles.map(({ deliveries, ...like }) => ({ ...like, ids: JSON.parse(deliveries).length })),
    ),
  ).toEqual([500, 500, 500, 250].map((ids) => [{ body, status: 'pending', ids }]));
  const all = [
    ...routed.deliveries.flatMap(({ id, endpointId }) => [id, endpointId]),
    ...(routed.remainders ?? []).flatMap(({ bundles }) =>
      bundles.flatMap(({ deliveries }) => JSON.parse(deliveries)),
    ),
  ];
  expect(all).toEqual(endpoints.flatMap(({ id }, n) => [`dlv_${n}`, id]));
  const few = await fanOut(
    event,
    () => ({ body }),
    endpoints.slice(0, 250),
    () => 'dlv_1',
    signal,
  );
  expect(few.remainders).toBeUndefined();
});

test('a part is limited by what its payloads do not share, too, and so is the commit of the event', async () => {
  const endpoints = Array.from({ length: 20 }, (_, n) => ({ ...endpoint(), id: `whk_${n}` }));
  const large = (n: number) => ({ hash: `${n}`, text: `${n}`.padEnd(200_000), bytes: 200_000 });
  const bodyOf = ({ id }: Receiver) => ({ body: '{"a":1,', tail: large(Number(id.slice(4))) });
  const routed = await fanOut(event, bodyOf, endpoints, () => 'dlv_1', signal);
  const idsIn = (part: Remainder) =>
    JSON.parse(Buffer.from(part.sealed ?? new SharedArrayBuffer(0)).toString()).bundles.length;
  expect(routed.deliveries).toHaveLength(2);
  expect(routed.remainders?.map(idsIn)).toEqual(Array(9).fill(2));
  const shared = await fanOut(
    event,
    () => ({ body: 'x'.repeat(200_000) }),
    endpoints,
    () => 'dlv_1',
    signal,
  );
  expect([shared.deliveries.length, shared.remainders]).toEqual([20, undefined]);
});

test('of very many endpoints with batching, all but the first are stored in commits of their own', async () => {
  const shape = shapeOf({ preset: 'slack' });
  const batching = { ...endpoint({ batching: 'hourly' }), shape };
  const endpoints = Array.from({ length: 850 }, (_, n) => ({
    ...(n < 100 ? endpoint() : batching),
    id: `whk_${n}`,
  }));
  const routed = await fanOut(
    event,
    () => ({ body: '{}' }),
    endpoints,
    () => 'dlv_1',
    signal,
  );
  const { deliveries, batched, remainders = [] } = routed;
  expect([deliveries.length, batched.length]).toEqual([100, 150]);
  expect(remainders.map((part) => [part.bundles.length, part.batched.length])).toEqual([
    [0, 250],
    [0, 250],
    [0, 100],
  ]);
  const all = [...batched, ...remainders.flatMap((part) => part.batched)];
  expect(all).toEqual(endpoints.slice(100).map(({ id }) => id));
});

test('an event that hundreds of endpoints skip for the same reason does not list them', async () => {
  const [wanting, other, picky] = [{}, { event_types: ['deal.changed' as const] }, { min_score: 99 }].map(
    endpoint,
  );
  if (wanting === undefined || other === undefined || picky === undefined) throw new Error('no endpoints');
  const routed = (others: number) =>
    fanOut(
      event,
      () => ({ body: '{}' }),
      [wanting, picky, ...Array.from({ length: others }, (_, n) => ({ ...other, id: `whk_${n}` }))],
      () => 'dlv_1',
      { ...signal, icp_score: 98 },
    );
  expect((await routed(100)).skipped).toHaveLength(101);
  expect((await routed(10_000)).skipped).toEqual([
    { endpointId: picky.id, reason: 'min_score' },
    { endpointId: '*', reason: 'event_type' },
  ]);
});

test('other work gets its turn between the endpoints of one event, and between its lists', async () => {
  const endpoints = Array.from({ length: 10_000 }, (_, n) => ({ ...endpoint(), id: `whk_${n}` }));
  let looks = 0;
  let made = 0;
  let madeBefore = 0;
  let longest = 0;
  const nextTurn = async () => {
    looks++;
    longest = Math.max(longest, made - madeBefore);
    madeBefore = made;
  };
  const newId = () => `dlv_${made++}`;
  await fanOut(event, () => ({ body: '{}' }), endpoints, newId, signal, { nextTurn });
  expect(longest).toBeLessThanOrEqual(100);
  expect(looks).toBeGreaterThan(100);
});

// Messages to the writer do not share equal texts: one for each of 250 endpoints held up everybody for 0.8 s.
test('the event of a change has its body once for all endpoints', async () => {
  const endpoints = Array.from({ length: 100 }, (_, n) => ({
    ...endpoint({ event_types: ['lead.created'] }),
    id: `whk_${n}`,
  }));
  const store = { listReceivers: async () => endpoints } as unknown as RouteDeps['store'];
  const data = { text: 'x'.repeat(10_000) };
  const change = { type: 'lead.created', subjectId: 'led_1', data } as const;
  const [routed] = await routeChanges({ store, clock: createManualClock(), newId: () => 'dlv_1' }, 'ten_a', [
    change,
  ]);
  expect(routed && countDeliveries(routed)).toBe(100);
  expect(JSON.stringify(routed).length).toBeLessThan(3 * 10_000);
});

// A hundred digests, each for a topic of its own, were created in one piece of 0.9 s.
test('other work gets its turn after each body that was created', async () => {
  const endpoints = Array.from({ length: 20 }, (_, n) => ({ ...endpoint(), id: `whk_${n}` }));
  const steps: string[] = [];
  const bodyOf = ({ id }: { id: string }) => {
    steps.push(id);
    return { body: id };
  };
  const nextTurn = async () => void steps.push('turn');
  await fanOut(event, bodyOf, endpoints, () => 'dlv_a', signal, { nextTurn });
  expect(steps.slice(0, 40)).toEqual(endpoints.flatMap(({ id }) => [id, 'turn']));
});

test('an endpoint without filters gets every signal.detected', async () => {
  expect(skipReason(event, endpoint(), signal)).toBeNull();
});

test.each([
  [{ event_types: ['signal.new_hot'] }, 'event_type'],
  [{ signal_types: ['intent_post'] }, 'signal_type'],
  [{ classifications: ['hot', 'cold'] }, 'classification'],
  [{ icp_profile_ids: ['icp_2'] }, 'icp_profile'],
  [{ min_score: 56 }, 'min_score'],
] as [Partial<WebhookInput>, string][])(
  '%j excludes a signal, with the reason %s',
  async (settings, reason) => {
    expect(skipReason(event, endpoint(settings), signal)).toBe(reason);
    expect(
      await fanOut(
        event,
        () => ({ body: '{}' }),
        [endpoint(settings)],
        () => 'dlv_1',
        signal,
      ),
    ).toMatchObject({
      deliveries: [],
      skipped: [{ endpointId: 'whk_1', reason }],
    });
  },
);

test('a signal that matches the filters passes', async () => {
  const settings: Partial<WebhookInput> = {
    signal_types: ['review'],
    classifications: ['warm'],
    icp_profile_ids: ['icp_1'],
    min_score: 55,
  };
  expect(skipReason(event, endpoint(settings), signal)).toBeNull();
});

test('signal filters do not apply to other events', async () => {
  const lead: EventRow = { ...event, type: 'lead.enriched' };
  expect(skipReason(lead, endpoint({ event_types: ['lead.enriched'], min_score: 90 }), null)).toBeNull();
});

test('a body of exactly the size limit is sent, and one byte more is rejected', async () => {
  const largest = MAX_BODY_BYTES - SIGNATURE_MEMBER_BYTES;
  const statusOf = async (size: number) => {
    const bodyOf = () => ({ body: 'x'.repeat(size) });
    return (await fanOut(event, bodyOf, [endpoint()], () => 'dlv_1', signal)).deliveries[0]?.status;
  };
  expect(await statusOf(largest)).toBe('pending');
  expect(await statusOf(largest + 1)).toBe('rejected');
});

test('of changes for thousands of endpoints, a few are in memory at once, and too many are refused', async () => {
  const endpoints = Array.from({ length: 10_000 }, (_, n) => ({ ...endpoint(), id: `whk_${n}` }));
  const store = { listReceivers: async () => endpoints } as unknown as RouteDeps['store'];
  const deps = { store, clock: createManualClock(), newId: (prefix: string) => `${prefix}_1` };
  const change = { type: 'deal.changed', subjectId: 'led_1', data: {} } as const;
  const committing: (() => void)[] = [];
  const commit = () => new Promise<void>((resolve) => committing.push(resolve));
  const results = Array.from({ length: 40 }, () =>
    commitRouted(deps, 'ten_1', { changes: [change] }, commit),
  );
  const settled = Promise.allSettled(results);
  let stored = 0;
  for (let looks = 0; looks < 1_000 && stored < 33; looks++) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(committing.length).toBeLessThanOrEqual(3);
    for (const end of committing.splice(0)) {
      end();
      stored++;
    }
  }
  const refused = (await settled).flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  expect([stored, refused.length]).toEqual([33, 7]);
  for (const error of refused) expect(error).toMatchObject({ code: 'UNAVAILABLE' });
});
