import { expect, test } from 'vitest';
import { shapeOf } from '../../src/model/payload-shape.ts';
import { createSignalRoom, roomOfCommit } from '../../src/signals/signal-room.ts';

const LIMITS = { free: 10, ofOwner: 100, ofAll: 250, waiting: 200 };

function setUp() {
  const room = createSignalRoom(LIMITS);
  const began: string[] = [];
  const begin = (owner: string, signals: number, name: string, waits = false) => {
    const lease = room.lease(owner, { waits });
    const taken = lease.take(signals).then(() => void began.push(name));
    return { lease, taken };
  };
  return { room, began, begin };
}

const later = () => new Promise((resolve) => setImmediate(resolve));

test('work of an owner begins while there is room for it', async () => {
  const { began, begin } = setUp();
  const [first] = [begin('a', 60, 'a1'), begin('a', 60, 'a2')];
  begin('a', 60, 'a3');
  begin('b', 60, 'b1');
  await later();
  expect(began).toEqual(['a1', 'a2', 'b1']);
  first.lease.end();
  await later();
  expect(began).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('small work never waits, and is not counted', async () => {
  const { room, began, begin } = setUp();
  begin('a', 1_000, 'large');
  for (let i = 0; i < 5; i++) begin('a', 10, `small ${i}`);
  await later();
  expect(began).toHaveLength(6);
  expect(room.lease('a', { waits: false }).tryTake(11)).toBe(false);
});

test('too much waiting work of an owner is refused, with the time to wait; that of sources waits', async () => {
  const { began, begin } = setUp();
  const first = begin('a', 100, 'a1');
  begin('a', 100, 'a2');
  begin('a', 100, 'a3');
  await expect(begin('a', 100, 'refused').taken).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    extra: { retryAfterSeconds: 10 },
  });
  begin('a', 100, 'source', true);
  begin('b', 100, 'b1');
  await later();
  expect(began).toEqual(['a1', 'b1']);
  first.lease.end();
  first.lease.end();
  await later();
  expect(began).toEqual(['a1', 'b1', 'a2']);
});

test('work with room goes on, and gives all of it back', async () => {
  const { room, began, begin } = setUp();
  const first = begin('a', 100, 'a1');
  await first.lease.take(100);
  begin('b', 100, 'b1');
  begin('c', 100, 'c1');
  await later();
  expect(began).toEqual(['a1', 'b1']);
  first.lease.end();
  await later();
  expect(began).toEqual(['a1', 'b1', 'c1']);
  expect(room.lease('a', { waits: false }).tryTake(100)).toBe(true);
});

test('the deliveries of a commit are counted once for each piece of work, and only if they are many', async () => {
  const { room, began } = setUp();
  const wide = room.lease('a', { waits: false });
  expect(wide.tryTake(1, 60)).toBe(true);
  expect(wide.tryTake(1, 60)).toBe(true); // counts as one signal: too few
  const second = room.lease('a', { waits: false });
  expect(second.tryTake(1, 60)).toBe(true);
  const third = room.lease('a', { waits: false });
  expect(third.tryTake(1, 60)).toBe(false);
  expect(room.lease('a', { waits: false }).tryTake(1, 9)).toBe(true);
  const taken = third.take(1, 60).then(() => void began.push('third'));
  await later();
  expect(began).toEqual([]);
  wide.end();
  await taken;
  expect(began).toEqual(['third']);
});

test('the deliveries of a commit take room by their number, and by the length of payload formats', () => {
  const shape = shapeOf({ flatten: false, custom: { note: 'x'.repeat(99_953) } });
  expect(shape.formatBytes).toBeGreaterThan(99_970);
  expect(roomOfCommit(Array(2_000).fill({ shape: null }))).toBe(100);
  expect(roomOfCommit(Array(80).fill({ shape }))).toBe(803);
});
