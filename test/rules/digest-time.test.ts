import { describe, expect, test } from 'vitest';
import { dateIn, dueAfterChange, lastDaily, lastHourly, nextDaily } from '../../src/rules/digest-time.ts';

const at = (text: string) => Date.parse(text);
const iso = (moment: number) => new Date(moment).toISOString();
const NEW_YORK = { timezone: 'America/New_York', hour: 8 };

describe('the hour of a digest', () => {
  test.each([
    ['winter', '2026-01-15T12:59:59Z', '2026-01-15T13:00:00.000Z'],
    ['summer', '2026-07-15T11:59:59Z', '2026-07-15T12:00:00.000Z'],
    ['just struck', '2026-07-15T12:00:00Z', '2026-07-16T12:00:00.000Z'],
    ['over the change in spring', '2026-03-07T14:00:00Z', '2026-03-08T12:00:00.000Z'],
    ['over the change in autumn', '2026-10-31T14:00:00Z', '2026-11-01T13:00:00.000Z'],
  ])('follows the local time of its time zone: %s', (_name, now, next) => {
    expect(iso(nextDaily(at(now), NEW_YORK))).toBe(next);
  });

  test('an hour skipped in spring starts right after the clock change', () => {
    const daily = { timezone: 'America/New_York', hour: 2 };
    expect(iso(nextDaily(at('2026-03-08T00:00:00Z'), daily))).toBe('2026-03-08T07:00:00.000Z');
  });

  test('an hour repeated in autumn counts once, the first time', () => {
    const daily = { timezone: 'America/New_York', hour: 1 };
    for (const asked of ['2026-11-01T00:00:00Z', '2026-11-01T04:59:59Z']) {
      expect(iso(nextDaily(at(asked), daily))).toBe('2026-11-01T05:00:00.000Z');
    }
    for (const asked of ['2026-11-01T05:00:00Z', '2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z']) {
      expect(iso(nextDaily(at(asked), daily))).toBe('2026-11-02T06:00:00.000Z');
      expect(iso(lastDaily(at(asked), daily))).toBe('2026-11-01T05:00:00.000Z');
    }
  });

  test('advances by one each day of a year, in any time zone', () => {
    for (const timezone of [
      'UTC',
      'Europe/Berlin',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
      'America/St_Johns',
    ]) {
      const daily = { timezone, hour: 2 };
      let moment = at('2026-01-01T00:00:00Z');
      const dates = new Set<string>();
      for (let day = 0; day < 365; day++) {
        moment = nextDaily(moment, daily);
        dates.add(dateIn(timezone, moment));
      }
      expect(dates.size).toBe(365);
    }
  });
});

test('full hours are those of the local time', () => {
  expect(iso(lastHourly(at('2026-05-05T10:20:00Z'), 'Asia/Kolkata'))).toBe('2026-05-05T09:30:00.000Z');
});

describe('after a change of settings', () => {
  const now = at('2026-07-15T12:20:00Z');
  test('a digest is due immediately during its hour, unless one was already created that day', () => {
    expect(dueAfterChange(now, NEW_YORK, null)).toBe(now);
    expect(dueAfterChange(now, NEW_YORK, at('2026-07-14T12:00:00Z'))).toBe(now);
    expect(iso(dueAfterChange(now, NEW_YORK, at('2026-07-15T05:00:00Z')))).toBe('2026-07-16T12:00:00.000Z');
  });
  test('at any other time it waits for its hour', () => {
    expect(iso(dueAfterChange(now, { ...NEW_YORK, hour: 7 }, null))).toBe('2026-07-16T11:00:00.000Z');
    expect(iso(dueAfterChange(now, { ...NEW_YORK, hour: 9 }, null))).toBe('2026-07-15T13:00:00.000Z');
  });
});
