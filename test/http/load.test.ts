import { expect, test } from 'vitest';
import { createLoadGate, LOAD_LIMITS } from '../../src/http/load.ts';
import { createManualClock } from '../support/manual-clock.ts';

function setUp(limits: Partial<typeof LOAD_LIMITS> = {}) {
  const signs = { storeMs: 0, turnMs: 0, memory: 0 };
  const clock = createManualClock();
  const gate = createLoadGate({
    clock,
    store: { waitMs: (owner) => (owner === 'busy' ? signs.storeMs : 0) },
    memoryShare: () => signs.memory,
    limits: { ...LOAD_LIMITS, least: 1, ...limits },
  });
  gate.watchTurns(() => signs.turnMs);
  const asks = (owner: string, bytes = 0) => gate.enter({ owner, bytes })?.strain ?? null;
  return { clock, gate, signs, asks };
}

test('one owner gets at most half of the slots, and a finished request frees its slot', () => {
  const { gate, asks } = setUp({ most: 4 });
  expect([asks('a'), asks('a'), asks('a'), asks('b'), asks('b'), asks('c')]).toEqual([
    ...[null, null, 'requests'],
    ...[null, null, 'requests'],
  ]);
  expect(gate.inFlight).toBe(4);
  gate.leave({ owner: 'a', bytes: 0 });
  expect([asks('a'), asks('a')]).toEqual([null, 'requests']);
  expect(gate.refused.requests).toBe(3);
});

test('bodies are limited by their total bytes, one owner to half of it', () => {
  const { gate, asks } = setUp({ mostBytes: 100 });
  expect([asks('a', 40), asks('a', 20), asks('a', 10), asks('b', 50), asks('c', 1)]).toEqual([
    null,
    'bodies',
    null,
    null,
    'bodies',
  ]);
  gate.leave({ owner: 'b', bytes: 50 });
  expect(asks('c', 1)).toBeNull();
});

test('large responses are counted until they are sent, and refuse further requests of their owner only', () => {
  const { gate, asks } = setUp({ mostBytes: 100 });
  const [one, other] = [
    { owner: 'a', bytes: 0 },
    { owner: 'a', bytes: 0 },
  ];
  expect([gate.enter(one), gate.enter(other)]).toEqual([null, null]);
  gate.answer(one, 40);
  expect(asks('a')).toBeNull();
  gate.answer(other, 20);
  expect([asks('a'), asks('b')]).toEqual(['responses', null]);
  gate.leave(one);
  expect(asks('a')).toBeNull();
});

test('a large response to a client that has disconnected is not counted', () => {
  const { gate, asks } = setUp({ mostBytes: 100 });
  expect([asks('b'), asks('b')]).toEqual([null, null]); // the least that is always admitted
  const cost = { owner: 'a', bytes: 0 };
  gate.enter(cost);
  gate.leave(cost);
  gate.answer(cost, 90);
  expect(asks('a')).toBeNull();
});

/** A request whose body has not arrived. */
function awaited(owner: string, bytes: number, ended: string[] = []) {
  return { owner, bytes, end: () => void ended.push(`${owner} ${bytes}`) };
}

test('a request takes no place while its body is awaited, and none once its response only has to be read', () => {
  const { gate, asks } = setUp({ most: 4 });
  const slow = Array.from({ length: 3 }, () => awaited('a', 1));
  for (const cost of slow) expect(gate.enter(cost)).toBeNull();
  expect([asks('a'), asks('a'), asks('a')]).toEqual([null, null, 'requests']);
  expect(gate.inFlight).toBe(5);
  for (const cost of slow) {
    gate.arrive(cost);
    gate.finish(cost);
  }
  expect([asks('a'), gate.inFlight]).toEqual(['requests', 2]);
  for (const cost of slow) gate.leave(cost);
  expect(gate.inFlight).toBe(2);
});

test('requests whose bodies are awaited end for others: first, the longest of the owner with the most', () => {
  const { gate, asks } = setUp({ mostBytes: 100 });
  const ended: string[] = [];
  const arrived = awaited('b', 20, ended);
  for (const cost of [awaited('a', 20, ended), awaited('a', 30, ended), arrived, awaited('b', 30, ended)])
    expect(gate.enter(cost)).toBeNull();
  gate.arrive(arrived);
  expect([asks('a', 1), ended]).toEqual(['bodies', []]); // its own limit
  expect([asks('c', 25), ended]).toEqual([null, ['a 20', 'a 30']]);
  expect([asks('c', 24), ended.length]).toEqual([null, 2]);
  expect([asks('d', 40), ended.length]).toEqual(['bodies', 2]); // more than any other has
});

test('among unauthenticated callers, further ones end the request whose body was awaited for the longest', () => {
  const { gate, asks } = setUp({ mostBytes: 100 });
  const ended: string[] = [];
  for (const bytes of [30, 20]) expect(gate.enter(awaited('', bytes, ended))).toBeNull();
  expect([asks('', 10), ended]).toEqual([null, [' 30']]);
});

test('an owner who would wait too long for a commit is rejected with the wait; others are not', () => {
  const { gate, signs, asks } = setUp();
  expect(asks('busy')).toBeNull();
  signs.storeMs = 6_400;
  expect(gate.enter({ owner: 'busy', bytes: 0 })).toEqual({ strain: 'storage', retryAfterSeconds: 7 });
  expect(asks('quiet')).toBeNull();
});

test('a long queue of turns rejects those with an equal share of the requests or more, not others', () => {
  const { signs, asks } = setUp();
  expect([asks('flood'), asks('flood'), asks('flood'), asks('flood')]).toEqual([null, null, null, null]);
  signs.turnMs = 3_001;
  expect([asks('flood'), asks('neighbour'), asks('flood'), asks('neighbour'), asks('neighbour')]).toEqual([
    ...['turns', null, 'turns', null, 'turns'],
  ]);
});

test('long event loop turns reject callers, and memory is checked periodically', () => {
  const { clock, signs, asks } = setUp();
  expect(asks('a')).toBeNull();
  signs.turnMs = 3_001;
  expect(asks('a')).toBe('turns');
  signs.turnMs = 0;
  expect(asks('a')).toBeNull();
  signs.memory = 0.95;
  expect(asks('a')).toBeNull();
  clock.advance(250);
  expect(asks('a')).toBe('memory');
});

test('a minimum of requests is always admitted, so that the load signals can recover', () => {
  const { signs, asks } = setUp({ least: 2 });
  Object.assign(signs, { memory: 1, turnMs: 60_000 });
  expect([asks('a'), asks('a'), asks('a')]).toEqual([null, null, 'turns']);
});
