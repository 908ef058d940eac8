import { DateTime } from 'luxon';
import type { StatsInterval } from '../model/campaign.ts';

/** A day or a week of a time zone: `start` <= t < `end`, Unix milliseconds. */
export interface Bucket {
  /** Its first day, `2026-03-29`. */
  date: string;
  start: number;
  end: number;
}

/** Half open; Unix milliseconds. */
export interface Range {
  from: number;
  to: number;
}

/** When the day `date` begins in `timezone`, Unix milliseconds; not every day begins at midnight. */
export function startOfDate(date: string, timezone: string): number {
  return startOf(DateTime.fromISO(date, { zone: timezone }), 'day').toMillis();
}

/** The days or weeks that `range` touches, without a gap; null where there are more than `max`. */
export function bucketsOf(
  { from, to }: Range,
  { interval, timezone, max }: { interval: StatsInterval; timezone: string; max: number },
): Bucket[] | null {
  const buckets: Bucket[] = [];
  let start = startOf(DateTime.fromMillis(from, { zone: timezone }), interval);
  while (start.toMillis() < to) {
    if (buckets.length === max) return null;
    const end = startOf(start.plus({ [interval]: 1 }), interval);
    buckets.push({ date: start.toFormat('yyyy-MM-dd'), start: start.toMillis(), end: end.toMillis() });
    start = end;
  }
  return buckets;
}

/**
 * Where midnight is struck twice (Havana, the Azores), luxon gives the second one when it comes from another day: the
 * moment before it is then still of the same date, and that day's start seen from there is the first. Its `hasSame`
 * errs in the same way, so dates are compared.
 */
function startOf(time: DateTime, interval: StatsInterval): DateTime {
  const start = time.startOf(interval);
  const before = start.minus({ milliseconds: 1 });
  return before.toISODate() === start.toISODate() ? before.startOf('day') : start;
}
