import { expect, test } from 'vitest';
import { createSlots } from '../../src/lib/slots.ts';

test('what is put under a number is taken once, by that number', () => {
  const slots = createSlots<string>();
  const [a, b] = [slots.put('a'), slots.put('b')];
  expect(slots.size).toBe(2);
  expect(slots.take(a)).toBe('a');
  expect(slots.take(a)).toBeUndefined();
  expect(slots.size).toBe(1);
  expect(slots.take(b)).toBe('b');
  expect(slots.take(99)).toBeUndefined();
  expect(slots.size).toBe(0);
});

test('numbers are used again, never two at once', () => {
  const slots = createSlots<number>();
  const used = new Map<number, number>();
  for (let i = 0; i < 1_000; i++) {
    const id = slots.put(i);
    expect(used.has(id)).toBe(false);
    used.set(id, i);
    if (i % 3 === 0) continue;
    const [oldest, item] = used.entries().next().value as [number, number];
    expect(slots.take(oldest)).toBe(item);
    used.delete(oldest);
  }
  expect(slots.size).toBe(used.size);
  expect(Math.max(...used.keys())).toBeLessThan(400);
});

test('all can be taken at once', () => {
  const slots = createSlots<string>();
  const first = slots.put('a');
  slots.put('b');
  slots.put('c');
  slots.take(first);
  expect(slots.takeAll().sort()).toEqual(['b', 'c']);
  expect(slots.size).toBe(0);
  expect(slots.take(first)).toBeUndefined();
});
