import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryDelayMs } from '../../src/dispatcher/outcome.ts';

const plain = { retry_interval_seconds: null, backoff: 'exponential' } as const;

describe('the delay before a retry', () => {
  it('without an interval, is 1 s, 5 s, 30 s, and then grows sixfold up to an hour', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 10].map((retry) => retryDelayMs(plain, retry, 0, null) / 1_000);
    expect(waits).toEqual([1, 5, 30, 180, 1_080, 3_600, 3_600, 3_600]);
  });

  it('doubles from the interval, or stays the same, depending on the endpoint', () => {
    const doubling = { retry_interval_seconds: 600, backoff: 'exponential' } as const;
    const fixed = { retry_interval_seconds: 600, backoff: 'fixed' } as const;
    expect([1, 2, 3, 4].map((n) => retryDelayMs(doubling, n, 0, null) / 1_000)).toEqual([
      600, 1_200, 2_400, 3_600,
    ]);
    expect([1, 2, 3, 4].map((n) => retryDelayMs(fixed, n, 0, null) / 1_000)).toEqual([600, 600, 600, 600]);
  });

  it('is never shorter than the schedule or Retry-After, and at most a tenth longer', () => {
    const settings = fc.record({
      retry_interval_seconds: fc.option(fc.integer({ min: 30, max: 600 })),
      backoff: fc.constantFrom('exponential' as const, 'fixed' as const),
    });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        settings,
        fc.integer({ min: 1, max: 10 }),
        chance,
        fc.nat(4_000_000),
        (set, retry, f, after) => {
          const least = Math.max(retryDelayMs(set, retry, 0, null), Math.min(after, 3_600_000));
          const wait = retryDelayMs(set, retry, f, after);
          expect(wait).toBeGreaterThanOrEqual(least);
          expect(wait).toBeLessThanOrEqual(Math.ceil(least * 1.1));
        },
      ),
    );
  });
});
