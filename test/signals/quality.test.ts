import { expect, test } from 'vitest';
import { qualityByWeek } from '../../src/signals/feedback.ts';

/** A Tuesday. */
const NOW = Date.UTC(2026, 10, 24, 9);
const DAY_MS = 86_400_000;

const judged = (daysAgo: number, relevant: boolean, classification = 'hot') => ({
  ...{ relevant, classification },
  createdAt: NOW - daysAgo * DAY_MS,
});

test('weekly precision counts shown signals in the week of their judgement, with a confidence interval', () => {
  const posts = [
    judged(0, true),
    judged(1, false, 'warm'),
    judged(2, true), // Sunday of the previous week
    judged(1, true, 'cold'),
    judged(100, true),
  ];
  expect(qualityByWeek(posts, { now: NOW, weeks: 3 })).toMatchObject([
    { from: '2026-11-09', judged: 0, precision: null, interval: null },
    { from: '2026-11-16', judged: 1, precision: 1, interval: { low: 0.207, high: 1 } },
    { from: '2026-11-23', judged: 2, precision: 0.5, interval: { low: 0.095, high: 0.905 } },
  ]);
});
