import { expect, test } from 'vitest';
import { readTime } from '../../src/detection/source-item.ts';

test.each<[string, string | null]>([
  ['2026-01-05T10:00:00Z', '2026-01-05T10:00:00.000Z'],
  ['2026-01-05T10:00:00.123456', '2026-01-05T10:00:00.123Z'],
  ['2026-01-05 10:00:00 UTC', '2026-01-05T10:00:00.000Z'],
  ['2026-01-05T10:00:00-05:00', '2026-01-05T15:00:00.000Z'],
  ['2026-01-05', '2026-01-05T00:00:00.000Z'],
  ['Mon, 05 Jan 2026 10:00:00 GMT', '2026-01-05T10:00:00.000Z'],
  ['Mon, 5 Jan 2026 10:00:00 +0130', '2026-01-05T08:30:00.000Z'],
  ['Mon, 05 Jan 2026 10:00:00 EST', '2026-01-05T15:00:00.000Z'],
  ['Mon, 05 Jan 2026 10:00:00', '2026-01-05T10:00:00.000Z'],
  ['05 Jan 26 10:00 GMT', '2026-01-05T10:00:00.000Z'],
  ['Mon Jan  5 10:00:00 2026', '2026-01-05T10:00:00.000Z'],
  ['January 5, 2026', '2026-01-05T00:00:00.000Z'],
  // Ambiguous times are rejected.
  ['01/02/2026', null],
  ['1-2-2026 10:00', null],
  ['Mon, 05 Jan 2026 10:00:00 IST', null],
  ['2026-02-30', null],
  ['5 Mär 2026', null],
  ['yesterday', null],
  ['', null],
])('%s is %s', (text, expected) => {
  const ms = readTime(text);
  expect(ms === null ? null : new Date(ms).toISOString()).toBe(expected);
});
