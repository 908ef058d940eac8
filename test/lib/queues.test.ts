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
