import { describe, expect, it } from 'vitest';
import { readRetryAfter } from '../../src/lib/clock.ts';

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1);
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
    ['999999', 999_999_000],
    ['soon', null],
    ['-5', null],
    ['1.5', null],
    ['', null],
    [undefined, null],
  ])('%s is %s ms', (value, expected) => {
    expect(readRetryAfter(value, now)).toBe(expected);
  });
});
