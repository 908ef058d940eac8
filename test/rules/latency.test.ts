import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FAILED, speedOf, summaryOf } from '../../src/rules/deliveries.ts';

test('a percentile is within a tenth of the exact value', () => {
  const times = fc.array(fc.double({ min: 1, max: 30_000, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(times, (ms) => {
      const exact = [...ms].sort((a, b) => a - b)[Math.ceil(0.95 * ms.length) - 1] ?? 0;
      const { p95, attempts, successRate } = summaryOf(
        ms.map((each) => ({ speed: speedOf(each), count: 1 })),
      );
      expect([attempts, successRate]).toEqual([ms.length, 1]);
      expect(Math.abs((p95 ?? 0) / exact - 1)).toBeLessThan(0.1);
    }),
  );
});

test('failures count towards the success rate only; without attempts, both are null', () => {
  const counts = [
    { speed: FAILED, count: 1 },
    { speed: speedOf(0.2), count: 3 },
  ];
  expect(summaryOf(counts)).toMatchObject({ attempts: 4, successRate: 0.75 });
  expect(summaryOf(counts).p95).toBeLessThan(1.1);
  expect(summaryOf([{ speed: FAILED, count: 2 }])).toEqual({ attempts: 2, successRate: 0, p95: null });
  expect(summaryOf([])).toEqual({ attempts: 0, successRate: null, p95: null });
});
