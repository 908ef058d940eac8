import { DateTime } from 'luxon';
import { smallestOf } from '../lib/lists.ts';
import type { DigestFrequency, Settings } from '../model/tenant.ts';

/** When a digest is due: at an hour of the day in its time zone, daily if no frequency is given. */
type Daily = Pick<Settings, 'timezone'> & { hour: number; frequency?: DigestFrequency };

const MONDAY = 1;

/** The next time after `now` at which the hour begins. */
export function nextDaily(now: number, daily: Daily): number {
  const today = DateTime.fromMillis(now, { zone: daily.timezone });
  for (let days = 0; ; days++) {
    const day = today.plus({ days });
    const moment = struckOn(day, daily.hour);
    if (moment > now && isDigestDay(day, daily)) return moment;
  }
}

function isDigestDay({ weekday }: DateTime, { frequency }: Daily): boolean {
  return frequency !== 'weekly' || weekday === MONDAY;
}

/** The last time, up to and including `now`, at which the hour began. */
export function lastDaily(now: number, daily: Daily): number {
  const today = DateTime.fromMillis(now, { zone: daily.timezone });
  for (let days = 0; ; days++) {
    const moment = struckOn(today.minus({ days }), daily.hour);
    if (moment <= now) return moment;
  }
}

/** The start of the current hour in local time. */
export function lastHourly(now: number, timezone: string): number {
  return DateTime.fromMillis(now, { zone: timezone }).startOf('hour').toMillis();
}

/** The local date of a time, as `2026-03-29`. */
export function dateIn(timezone: string, moment: number): string {
  return DateTime.fromMillis(moment, { zone: timezone }).toFormat('yyyy-MM-dd');
}

/**
 * When the next digest is due after a change of its settings: at once if it is now its hour and no digest was
 * created today.
 */
export function dueAfterChange(now: number, daily: Daily, madeAt: number | null): number {
  const today = DateTime.fromMillis(now, { zone: daily.timezone });
  const isNow = today.hour === daily.hour && isDigestDay(today, daily);
  const madeToday = madeAt !== null && dateIn(daily.timezone, madeAt) === dateIn(daily.timezone, now);
  return isNow && !madeToday ? now : nextDaily(now, daily);
}

/**
 * An hour skipped by a clock change begins right after the change; for an hour that occurs twice, the first
 * one counts. Luxon returns either of the two, depending on earlier calls, so both are computed.
 */
function struckOn(day: DateTime, hour: number): number {
  const { year, month, day: date } = day;
  const moment = DateTime.fromObject({ year, month, day: date, hour }, { zone: day.zone });
  return smallestOf(moment.getPossibleOffsets().map((possible) => possible.toMillis()));
}
