import { DateTime } from 'luxon';
import { smallestOf } from '../lib/lists.ts';
import type { Settings } from '../model/tenant.ts';

/** When a digest is due: its hour of the day in its zone. */
type Daily = Pick<Settings, 'timezone'> & { hour: number };

/** The first moment after `now` at which the hour is struck. */
export function nextDaily(now: number, daily: Daily): number {
  const today = DateTime.fromMillis(now, { zone: daily.timezone });
  for (let days = 0; ; days++) {
    const moment = struckOn(today.plus({ days }), daily.hour);
    if (moment > now) return moment;
  }
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
  const isNow = DateTime.fromMillis(now, { zone: daily.timezone }).hour === daily.hour;
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
