import { expect, test } from 'vitest';
import { createHostGate } from '../../src/detection/host-gate.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { T0 } from '../support/store.ts';

const MOST = 10_000;
const PASSAGE = { owner: '', scopes: [], signal: null, mayWait: false };

function open() {
  const clock = createManualClock(T0);
  const gate = createHostGate(clock);
  const hold = (host: string, forMs: number) => gate.hold({ host, scope: '', until: clock.now() + forMs });
  const isHeld = (host: string) => gate.enter(host, PASSAGE, async () => false).catch(() => true);
  return { clock, gate, hold, isHeld };
}

test('ten thousand other paused hosts do not evict a pause', async () => {
  const { hold, isHeld } = open();
  hold('patient.example', 3_600_000);
  for (let i = 0; i < MOST + 1_000; i++) hold(`host-${i}.example`, 1_000 + i);
  expect(await isHeld('patient.example')).toBe(true);
  expect(await isHeld(`host-${MOST}.example`)).toBe(true);
  // A thousand beyond the maximum, the pauses that end first are evicted.
  expect([await isHeld('host-1000.example'), await isHeld('host-1001.example')]).toEqual([false, true]);
});

test('expired pauses are evicted first', async () => {
  const { clock, hold, isHeld } = open();
  for (let i = 0; i < MOST - 1; i++) hold(`over-${i}.example`, 1_000);
  hold('short.example', 5_000);
  clock.advance(2_000);
  hold('new.example', 60_000);
  expect([await isHeld('short.example'), await isHeld('new.example')]).toEqual([true, true]);
});

test('ten thousand other request intervals evict only the oldest ones', async () => {
  const { gate, isHeld } = open();
  gate.pace('slow.example', 60_000);
  for (let i = 0; i < MOST - 1; i++) gate.pace(`host-${i}.example`, 60_000);
  expect(await isHeld('slow.example')).toBe(true);
  gate.pace('another.example', 60_000);
  expect([await isHeld('slow.example'), await isHeld('host-0.example')]).toEqual([true, false]);
});

// The first request waits for nobody, so it is not its owner's turn yet.
test('tenants take turns at a host, one request at a time', async () => {
  const { gate } = open();
  const order: string[] = [];
  let atOnce = 0;
  const ask = (owner: string, name: string) =>
    gate.enter('shared.example', { ...PASSAGE, owner }, async () => {
      order.push(name);
      expect(++atOnce).toBe(1);
      await Promise.resolve();
      atOnce--;
    });
  const busy = [1, 2, 3, 4].map((n) => ask('busy', `busy ${n}`));
  await Promise.all([...busy, ask('other', 'other 1'), ask('other', 'other 2')]);
  expect(order).toEqual(['busy 1', 'busy 2', 'other 1', 'busy 3', 'other 2', 'busy 4']);
});

test('most holds do not look through all others', () => {
  const { clock } = open();
  let looks = 0;
  const { monotonic } = clock;
  const counting = {
    ...clock,
    monotonic() {
      looks++;
      return monotonic();
    },
  };
  const gate = createHostGate(counting);
  for (let i = 0; i < 3 * MOST; i++) gate.hold({ host: `h${i}.example`, scope: '', until: T0 + 1_000 + i });
  // One look at the clock for each hold, and one for each of nineteen times that others are evicted.
  expect(looks).toBe(3 * MOST + 19);
});
