import { DateTime } from 'luxon';
import { smallestOf } from '../lib/lists.ts';
import type { DigestFrequency, Settings } from '../model/tenant.ts';

/** When a digest is due: its hour of the day in its zone, every day where no frequency is named. */
type Daily = Pick<Settings, 'timezone'> & { hour: number; frequency?: DigestFrequency };

const MONDAY = 1;

/** The first moment after `now` at which the hour is struck. */
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

/** The last moment up to `now` at which the hour was struck. */
export function lastDaily(now: number, daily: Daily): number {
  const today = DateTime.fromMillis(now, { zone: daily.timezone });
  for (let days = 0; ; days++) {
    const moment = struckOn(today.minus({ days }), daily.hour);
    if (moment <= now) return moment;
  }
}

/** The last full hour of the zone's clocks up to `now`. */
export function lastHourly(now: number, timezone: string): number {
  return DateTime.fromMillis(now, { zone: timezone }).startOf('hour').toMillis();
}

/** The day of a moment in a zone, `2026-03-29`. */
export function dateIn(timezone: string, moment: number): string {
  return DateTime.fromMillis(moment, { zone: timezone }).toFormat('yyyy-MM-dd');
}

/**
 * When the next digest is due after its settings were changed: at once, where its hour is the present one and none was
 * made today.
 */
export function dueAfterChange(now: number, daily: Daily, madeAt: number | null): number {
  const today = DateTime.fromMillis(now, { zone: daily.timezone });
  const isNow = today.hour === daily.hour && isDigestDay(today, daily);
  const madeToday = madeAt !== null && dateIn(daily.timezone, madeAt) === dateIn(daily.timezone, now);
  return isNow && !madeToday ? now : nextDaily(now, daily);
}

/**
 * An hour that is left out in spring is struck when the clocks have gone on; one that is struck twice in autumn counts the
 * first time. Which of the two luxon takes depends on what it was asked before, so that both are looked at.
 */
function struckOn(day: DateTime, hour: number): number {
  const { year, month, day: date } = day;
  const moment = DateTime.fromObject({ year, month, day: date, hour }, { zone: day.zone });
  return smallestOf(moment.getPossibleOffsets().map((possible) => possible.toMillis()));
}
