import { expect, test, vi } from 'vitest';
import { buildTestApp } from '../../support/app.ts';

/** Characters counted in each turn of the event loop. */
const turns = vi.hoisted(() => new Map<number, number[]>());

vi.mock('tokenx', async (original) => {
  const tokenx = await original<typeof import('tokenx')>();
  return {
    ...tokenx,
    estimateTokenCount(text: string) {
      const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
      turns.set(turn, [...(turns.get(turn) ?? []), text.length]);
      return tokenx.estimateTokenCount(text);
    },
  };
});

test('llms.txt counts the tokens of each long document in a turn of its own', async () => {
  const { app } = await buildTestApp();
  turns.clear();
  const [first, second] = await Promise.all([app.inject('/llms.txt'), app.inject('/llms.txt')]);
  expect([first.statusCode, second.body]).toEqual([200, first.body]);
  const long = [...turns.values()].filter((lengths) => lengths.some((length) => length > 100_000));
  expect(long).toEqual([[expect.any(Number)]]);
  expect(turns.size).toBeGreaterThanOrEqual(7);
  await app.close();
});
