import { expect, test } from 'vitest';
import { timingWords } from '../../src/dashboard/delivery-words.ts';

const duration = (ms: number) => `${ms} ms`;

test.each([
  [{ connected_ms: 3, headers_ms: 12 }, 'Connected in 3 ms · response after 12 ms · 14 ms in total'],
  // Kept alive: no new connection was opened, but the receiver responded.
  [{ connected_ms: null, headers_ms: 12 }, 'Reused connection · response after 12 ms · 14 ms in total'],
  [{ connected_ms: 3, headers_ms: null }, 'Connected in 3 ms · no response · 14 ms in total'],
  [{ connected_ms: null, headers_ms: null }, 'Not connected · no response · 14 ms in total'],
])('an attempt with %j is shown as "%s"', (timings, shown) => {
  expect(timingWords({ timings, duration_ms: 14 }, duration)).toBe(shown);
});
