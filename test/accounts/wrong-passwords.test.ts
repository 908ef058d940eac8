import { beforeEach, expect, test } from 'vitest';
import { createWrongPasswords, RESET_TRIES, type WrongPasswords } from '../../src/accounts/passwords.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';

let clock: ManualClock;
let tries: WrongPasswords;
beforeEach(() => {
  clock = createManualClock();
  tries = createWrongPasswords(clock);
});

const ME = '127.0.0.9';

/** Returns how many of `count` attempts for an address are allowed. */
function letThrough(count: number, email = 'rita@example.com', client = ME): number {
  return Array.from({ length: count }, () => tries.take(email, client)).filter((wait) => wait === null)
    .length;
}

test('attempts for 100,000 other addresses do not unblock a blocked address', () => {
  expect(letThrough(6)).toBe(5);
  for (let i = 0; i < 100_000; i++) tries.take(`r${i}@example.com`, ME);
  expect(letThrough(5)).toBe(0);
  clock.advance(15 * 60_000);
  expect(letThrough(6)).toBe(5);
});

test('a thousand clients together cannot unblock an address, and get at most fifty attempts at it', () => {
  let through = 0;
  for (let client = 0; client < 1_000; client++) {
    for (let i = 0; i < 60; i++)
      tries.take(`c${client}n${i}@example.com`, `10.0.${client >> 8}.${client & 255}`);
    through += letThrough(2, 'rita@example.com', `10.1.${client >> 8}.${client & 255}`);
  }
  expect(through).toBe(50);
});

test('password reset links are limited the same way', () => {
  tries = createWrongPasswords(clock, RESET_TRIES);
  expect(letThrough(9)).toBe(3);
  for (let i = 0; i < 50_000; i++) tries.take(`r${i}@example.com`, ME);
  expect(letThrough(3)).toBe(0);
});

test('two nodes share attempts and successful logins without sending addresses', () => {
  const onCounted: ((key: string, count: number) => void)[] = [];
  const said: string[] = [];
  const nodes = [0, 1].map((node) =>
    createWrongPasswords(clock, undefined, {
      name: 'wrong passwords',
      shareCounts(_name, on) {
        onCounted[node] = on;
        return (key, count) => {
          said.push(key);
          onCounted[1 - node]?.(key, count);
        };
      },
    }),
  ) as [WrongPasswords, WrongPasswords];
  const through = (count: number) =>
    Array.from({ length: count }, (_, i) => nodes[i % 2]?.take('rita@example.com', ME)).filter(
      (wait) => wait === null,
    ).length;
  expect(through(4)).toBe(4);
  nodes[0].take('rita@example.com', ME);
  nodes[0].forgive('rita@example.com', ME);
  expect(through(12)).toBe(5);
  expect(nodes[1].take('rita@example.com', ME)?.isFirst).toBe(false);
  expect(said.join(' ')).not.toMatch(/rita|127\.0/);
  clock.advance(15 * 60_000);
  expect(through(12)).toBe(5);
});

test('only the first rejection of a window is marked as the first', () => {
  letThrough(5);
  const refused = Array.from({ length: 3 }, () => tries.take('rita@example.com', ME)?.isFirst);
  expect(refused).toEqual([true, false, false]);
  clock.advance(15 * 60_000);
  letThrough(5);
  expect(tries.take('rita@example.com', ME)?.isFirst).toBe(true);
});

test('a correct password takes back only its own attempt', () => {
  letThrough(4);
  tries.take('rita@example.com', ME);
  tries.forgive('rita@example.com', ME);
  expect(letThrough(6)).toBe(5);
  // A client has 50 attempts, of which one succeeded.
  for (let i = 0; i < 39; i++) tries.take(`r${i}@example.com`, ME);
  expect(letThrough(9, 'last@example.com')).toBe(2);
});
