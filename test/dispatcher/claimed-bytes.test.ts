import { expect, test } from 'vitest';
import { createAgenda } from '../../src/dispatcher/agenda.ts';
import { createClaimer } from '../../src/dispatcher/claim.ts';
import { createClaimedBytes } from '../../src/dispatcher/claimed-bytes.ts';
import { createSlots } from '../../src/dispatcher/slots.ts';
import type { ClaimRequest, LaneClaim } from '../../src/store/delivery-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createManualClock } from '../support/manual-clock.ts';

test('a tenant takes half of what the others leave, and three quarters of that for endpoints that do not respond', () => {
  const claimed = createClaimedBytes(800);
  claimed.add('ten_a', 299);
  expect([claimed.hasRoomForUnproven('ten_a'), claimed.hasRoomFor('ten_a')]).toEqual([true, true]);
  claimed.add('ten_a', 100);
  expect([claimed.hasRoomForUnproven('ten_a'), claimed.hasRoomFor('ten_a')]).toEqual([false, true]);
  claimed.add('ten_a', 1);
  expect(claimed.hasRoomFor('ten_a')).toBe(false);
  expect(claimed.hasRoomForUnproven('ten_b')).toBe(true);
  claimed.add('ten_b', 200);
  expect(claimed.hasRoomFor('ten_b')).toBe(false);
  claimed.add('ten_a', -400);
  expect([claimed.hasRoomFor('ten_a'), claimed.hasRoomForUnproven('ten_b')]).toEqual([true, true]);
});

const BODY_BYTES = 100_000;

/** A claimer whose store has a delivery of 100 KB for each endpoint, and room for a megabyte in all. */
function aClaimer() {
  const clock = createManualClock();
  const claimedBytes = createClaimedBytes(1_000_000);
  const wakeUp = { soon() {}, atOnce() {}, listen() {} };
  const agenda = createAgenda({ clock, slots: createSlots(clock, () => {}), claimedBytes, wakeUp });
  const claimed: string[] = [];
  const bytes = Buffer.alloc(BODY_BYTES);
  const store = {
    async claimDeliveries({ lanes }: ClaimRequest): Promise<LaneClaim[]> {
      return lanes.map(({ endpointId, limit }) => {
        const own = { id: `dlv_${endpointId}`, attempt: 1, attemptsInCycle: 0, eventType: 'signal.created' };
        if (limit > 0) claimed.push(endpointId);
        const deliveries = limit > 0 ? [{ ...own, bytes, start: 0, end: BODY_BYTES }] : [];
        return { endpointId, deliveries, nextDueAt: null, endpoint: null } as LaneClaim;
      });
    },
  } as unknown as Store;
  const claimer = createClaimer({
    ...{ store, clock, agenda, claimedBytes, wakeUp, leaseToken: 'lease', log: console as never },
    prepare: () => {
      throw new Error('no endpoint has changed');
    },
  });
  return {
    agenda,
    claimed,
    due: (endpointId: string, tenantId: string) => agenda.due(endpointId, tenantId, clock.now()),
    /** Claims until nothing more is claimed. */
    async run() {
      for (let before = -1; before < claimed.length; ) {
        before = claimed.length;
        claimer.run();
        for (let i = 0; i < 10; i++) await Promise.resolve();
      }
    },
    /** Sends the delivery of an endpoint. */
    send: (endpointId: string) => agenda.lane(endpointId, '').depart(clock.monotonic()),
  };
}

test('no more is claimed than there is room for, until something was sent', async () => {
  const { claimed, due, run, send } = aClaimer();
  due('whk_first', 'ten_a'); // from then on, the size of bodies is known
  await run();
  for (let n = 0; n < 100; n++) due(`whk_${n}`, 'ten_a');
  await run();
  // Three quarters of half a megabyte, unless the last one exceeds it.
  expect(claimed).toHaveLength(5);
  due('whk_other', 'ten_b');
  await run();
  expect(claimed.slice(5)).toEqual(['whk_other']);
  for (const endpointId of claimed.slice(0, 5)) expect(send(endpointId)).not.toBeNull();
  await run();
  expect(claimed.length).toBeGreaterThan(8);
});

test('of an endpoint that failed, the state is confirmed even if there is no room', async () => {
  const { agenda, claimed, due, run } = aClaimer();
  for (let n = 0; n < 100; n++) due(`whk_${n}`, 'ten_a');
  await run();
  const lane = agenda.lane('whk_0', 'ten_a');
  lane.landed(true, false);
  lane.leave('dlv_whk_0', true);
  lane.workIsDue(0);
  agenda.consider(lane);
  expect(agenda.toClaim.confirming.size).toBe(1);
  const before = claimed.length;
  await run();
  expect(agenda.toClaim.confirming.size).toBe(0);
  expect(claimed).toHaveLength(before);
});
