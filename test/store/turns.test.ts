import { expect, test } from 'vitest';
import { createTurns } from '../../src/store/turns.ts';

const later = () => new Promise((resolve) => setImmediate(resolve));

/** Work that notes when it begins and ends. */
function createWork() {
  const noted: string[] = [];
  const work = (name: string) => async () => {
    noted.push(`${name} begins`);
    await later();
    noted.push(`${name} ends`);
    return name;
  };
  return { noted, work };
}

test('work with a common name runs one after the other, other work beside it', async () => {
  const { noted, work } = createWork();
  const inTurn = createTurns(null);
  const all = [
    inTurn('ten_a', ['x', 'y'], work('first')),
    inTurn('ten_a', ['y', 'z'], work('second')),
    inTurn('ten_b', ['x'], work('other')),
  ];
  expect(await Promise.all(all)).toEqual(['first', 'second', 'other']);
  expect(noted.slice(0, 3)).toEqual(['first begins', 'other begins', 'first ends']);
  expect(noted.indexOf('second begins')).toBeGreaterThan(noted.indexOf('first ends'));
});

test('a failure is thrown to its caller only, and the next one runs', async () => {
  const inTurn = createTurns(null);
  const failing = inTurn('ten_a', ['x'], () => Promise.reject(new Error('no')));
  const next = inTurn('ten_a', ['x'], async () => 'next');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});

test('the shared lock is taken once, when it is asked for, and released at the end, also of work that fails', async () => {
  const noted: string[] = [];
  const inTurn = createTurns({
    take: async (owner, names) => {
      noted.push(`${owner} ${names.join()} taken`);
      return async () => void noted.push('released');
    },
  });
  await inTurn('ten_a', ['x'], async () => 'without');
  expect(noted).toEqual([]);
  const failing = inTurn('ten_a', ['x', 'y'], async (lockOut) => {
    expect(await lockOut()).toBe(true);
    expect(await lockOut()).toBe(true);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(noted).toEqual(['ten_a x,y taken', 'released']);
  expect(await createTurns(null)('ten_a', ['x'], (lockOut) => lockOut())).toBe(false);
});
