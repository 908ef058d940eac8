import { expect, it } from 'vitest';
import type { Agenda, WakeUp } from '../../src/dispatcher/agenda.ts';
import type { Claimer } from '../../src/dispatcher/claim.ts';
import { createClaimedBytes } from '../../src/dispatcher/claimed-bytes.ts';
import type { FlightDeps } from '../../src/dispatcher/flight.ts';
import { Lane } from '../../src/dispatcher/lane.ts';
import type { OutcomeRecorder } from '../../src/dispatcher/recorder.ts';
import { createScheduler } from '../../src/dispatcher/scheduler.ts';
import { createFairQueue, createSlots } from '../../src/dispatcher/slots.ts';
import { createManualClock } from '../support/manual-clock.ts';

const NEW = { target: null, claimedBytes: createClaimedBytes() };

it('lets a tenant wait that has as many requests in flight as there are free slots, and no other', () => {
  const clock = createManualClock();
  const slots = createSlots(clock, () => {});
  while (slots.hasRoomFor('stalled')) slots.take('proven', 'stalled');
  clock.advance(250);
  slots.full('proven');
  clock.advance(250);
  const first = createFairQueue<Lane>();
  const considered: string[] = [];
  const toSend = { proven: createFairQueue<Lane>(), first, further: createFairQueue<Lane>() };
  let wake = () => {};
  createScheduler({
    ...{ clock, slots, store: { epoch: () => 0 }, flights: {} as FlightDeps },
    wakeUp: { listen: (answer: () => void) => (wake = answer) } as unknown as WakeUp,
    agenda: { toSend, consider: (lane: Lane) => considered.push(lane.tenantId) } as unknown as Agenda,
    recorder: { waiting: 0 } as OutcomeRecorder,
    claimer: { run: () => {} } satisfies Claimer,
  });
  for (const tenantId of ['stalled', 'other']) first.add(new Lane(`whk_${tenantId}`, tenantId, NEW));
  wake();
  expect(considered).toEqual(['other']);
  slots.release('proven', 'stalled', 0);
  wake();
  expect(considered).toEqual(['other', 'stalled']);
});

it('sends nothing while everything is being given back', async () => {
  const clock = createManualClock();
  const first = createFairQueue<Lane>();
  const toSend = { proven: createFairQueue<Lane>(), first, further: createFairQueue<Lane>() };
  const given = Promise.withResolvers<void>();
  const considered: string[] = [];
  let epoch = 1;
  let wake = () => {};
  createScheduler({
    ...{
      clock,
      slots: createSlots(clock, () => {}),
      store: { epoch: () => epoch },
      flights: {} as FlightDeps,
    },
    wakeUp: { listen: (answer: () => void) => (wake = answer), soon: () => wake() } as unknown as WakeUp,
    agenda: {
      ...{ toSend, consider: (lane: Lane) => considered.push(lane.tenantId) },
      giveBackAll: () => given.promise,
    } as unknown as Agenda,
    recorder: { waiting: 0 } as OutcomeRecorder,
    claimer: { run: () => {} } satisfies Claimer,
  });
  first.add(new Lane('whk_a', 'ten_a', NEW));
  epoch++;
  wake();
  wake();
  expect(considered).toEqual([]);
  given.resolve();
  await expect.poll(() => considered).toEqual(['ten_a']);
});
