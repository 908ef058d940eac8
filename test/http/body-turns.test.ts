import { expect, test } from 'vitest';
import { createBodyTurns } from '../../src/http/body-turns.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test.each([
  ['small', 64, 8 * 1024, 8],
  ['medium', 10, 40 * 1024, 1],
])(
  'of many %s bodies that end together, the rest are parsed in later turns',
  async (_, count, bytes, first) => {
    const inTurn = createBodyTurns();
    let parsed = 0;
    for (let n = 0; n < count; n++) inTurn('a', bytes, () => parsed++);
    expect(parsed).toBe(first);
    await expect.poll(() => parsed).toBe(count);
  },
);

test('bodies that end in different turns are parsed at once', async () => {
  const inTurn = createBodyTurns();
  let parsed = 0;
  for (let n = 1; n <= 3; n++) {
    inTurn('a', 60 * 1024, () => parsed++);
    expect(parsed).toBe(n);
    await nextTurn();
    await nextTurn();
  }
});
