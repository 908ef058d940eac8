import { expect, test } from 'vitest';
import { createFairQueue } from '../../src/lib/queues.ts';

function drained(turns: ReturnType<typeof createFairQueue<string>>): string[] {
  const all: string[] = [];
  for (let item = turns.next(); item !== undefined; item = turns.next()) all.push(item);
  return all;
}

test('owners take turns, and the items of one owner are taken oldest first', () => {
  const turns = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) turns.push(item.slice(0, 1), item);
  expect(drained(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  expect(turns.next()).toBeUndefined();
});

test('items added while their owner was served come after those of other waiting owners', () => {
  const turns = createFairQueue<string>();
  turns.push('a', 'a1');
  expect(turns.next()).toBe('a1');
  turns.push('a', 'a2');
  turns.push('b', 'b1');
  turns.letOthers('a');
  expect(drained(turns)).toEqual(['b1', 'a2']);
});

test('the owner with the lowest rank is next, and among equals the one whose turn it is', () => {
  const turns = createFairQueue<string>();
  for (const item of ['a1', 'b1', 'c1', 'c2']) turns.push(item.slice(0, 1), item);
  const rank = (owner: string) => (owner === 'a' ? 1 : 0);
  expect([turns.next(rank), turns.next(rank), turns.next(rank), turns.next(rank)]).toEqual([
    'b1',
    'c1',
    'c2',
    'a1',
  ]);
});

test('an owner without items does not wait for those that had a turn and wait for another', () => {
  const turns = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'b1', 'b2', 'c1', 'c2']) turns.push(item.slice(0, 1), item);
  expect([turns.next(), turns.next()]).toEqual(['a1', 'b1']);
  turns.push('d', 'd1');
  expect(drained(turns)).toEqual(['c1', 'd1', 'a2', 'b2', 'c2']);
});

test('an owner that always adds its next item after a turn gets one turn per round', () => {
  const turns = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3']) turns.push(item.slice(0, 1), item);
  expect([turns.next(), turns.next()]).toEqual(['a1', 'b1']);
  const taken: (string | undefined)[] = [];
  turns.push('c', 'c1');
  for (let n = 2; n <= 4; n++) {
    for (let each = 0; each < 3; each++) taken.push(turns.next());
    turns.push('c', `c${n}`);
  }
  expect(taken.filter((item) => item?.startsWith('c'))).toHaveLength(3);
  expect(taken.filter((item) => item?.startsWith('a'))).toEqual(['a2', 'a3', 'a4']);
});
