import { expect, test } from 'vitest';
import { timingWords } from '../../src/dashboard/delivery-words.ts';

const duration = (ms: number) => `${ms} ms`;

test.each([
  [{ connected_ms: 3, headers_ms: 12 }, 'Connected after 3 ms · reply after 12 ms · 14 ms in all'],
  // Kept alive: nothing was dialled, and yet the receiver answered.
  [
    { connected_ms: null, headers_ms: 12 },
    'On a connection that stood already · reply after 12 ms · 14 ms in all',
  ],
  [{ connected_ms: 3, headers_ms: null }, 'Connected after 3 ms · no reply · 14 ms in all'],
  [{ connected_ms: null, headers_ms: null }, 'No new connection · no reply · 14 ms in all'],
])('an attempt with %j is told as "%s"', (timings, told) => {
  expect(timingWords({ timings, duration_ms: 14 }, duration)).toBe(told);
});
