import { HOUR_MS } from '../lib/clock.ts';

const LAST_TIME_MS = Date.UTC(2999, 11, 31);
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Hours east of UTC. Only names that mean one zone; a time in another (IST, BST, CST of China…) is left out. */
const ZONES: Record<string, number> = {
  z: 0,
  ut: 0,
  utc: 0,
  gmt: 0,
  est: -5,
  edt: -4,
  cst: -6, // RFC 822 names the American ones
  cdt: -5,
  mst: -7,
  mdt: -6,
  pst: -8,
  pdt: -7,
  wet: 0,
  west: 1,
  cet: 1,
  cest: 2,
  eet: 2,
  eest: 3,
  jst: 9,
};

// 2026-01-05, 2026-01-05T10:00, 2026-01-05 10:00:00.123 +01:00
const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T\s]+(\d{2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?\s*(.*))?$/i;
// Mon, 05 Jan 2026 10:00:00 GMT (RFC 822, 850, 5322), with the names of days and months cut or whole
const DAY_FIRST =
  /^(?:[a-z]+\.?,?\s+)?(\d{1,2})[\s-]+([a-z]{3,9})\.?,?[\s-]+(\d{4}|\d{2})(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(.*))?$/i;
// Mon Jan 5 10:00:00 2026 (asctime) and Jan 5, 2026 10:00 GMT
const ASCTIME =
  /^[a-z]{3,9}\s+([a-z]{3,9})\s+(\d{1,2})\s+(\d{1,2}):(\d{2}):(\d{2})(?:\s+([a-z]{1,5}))?\s+(\d{4})$/i;
const MONTH_FIRST =
  /^(?:[a-z]+,?\s+)?([a-z]{3,9})\.?\s+(\d{1,2}),?\s+(\d{4})(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(.*))?$/i;

/**
 * A time as sources write it, in Unix milliseconds. Without a zone it is UTC, whatever ours is. Null where it is no time, or
 * may be several (01/02/2026, an unknown zone): no time is better than a wrong one.
 */
export function readTime(text: string | undefined | null): number | null {
  const given = (text ?? '').trim().slice(0, 100);
  const ms = iso(given) ?? dayFirst(given) ?? asctime(given) ?? monthFirst(given);
  return ms !== null && ms >= 0 && ms <= LAST_TIME_MS ? ms : null;
}

function iso(text: string): number | null {
  const [found, year, month, day, hour, minute, second, zone] = ISO.exec(text) ?? [];
  if (found === undefined) return null;
  return toMs({ year, month: Number(month) - 1, day, hour, minute, second, zone });
}

function dayFirst(text: string): number | null {
  const [found, day, month, year, hour, minute, second, zone] = DAY_FIRST.exec(text) ?? [];
  if (found === undefined) return null;
  return toMs({ year: century(year), month: monthOf(month), day, hour, minute, second, zone });
}

function asctime(text: string): number | null {
  const [found, month, day, hour, minute, second, zone, year] = ASCTIME.exec(text) ?? [];
  if (found === undefined) return null;
  return toMs({ year, month: monthOf(month), day, hour, minute, second, zone });
}

function monthFirst(text: string): number | null {
  const [found, month, day, year, hour, minute, second, zone] = MONTH_FIRST.exec(text) ?? [];
  if (found === undefined) return null;
  return toMs({ year, month: monthOf(month), day, hour, minute, second, zone });
}

function monthOf(name = ''): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase());
}

/** RFC 5322, section 4.3. */
function century(year = ''): string {
  if (year.length !== 2) return year;
  return Number(year) < 50 ? `20${year}` : `19${year}`;
}

interface Parts {
  year: string | undefined;
  month: number;
  day: string | undefined;
  hour: string | undefined;
  minute: string | undefined;
  second: string | undefined;
  zone: string | undefined;
}

function toMs({ year, month, day, hour = '0', minute = '0', second = '0', zone = '' }: Parts): number | null {
  const offset = offsetMs(zone);
  const at = [Number(year), month, Number(day), Number(hour), Number(minute)] as const;
  // A leap second is the first of the next minute.
  const seconds = Number(second.replace(',', '.'));
  const start = Date.UTC(...at);
  const date = new Date(start);
  const real = date.getUTCMonth() === month && date.getUTCDate() === at[2] && at[3] < 24 && at[4] < 60;
  if (offset === null || month < 0 || !real || seconds >= 61) return null;
  return start + Math.floor(seconds * 1_000) - offset;
}

function offsetMs(zone: string): number | null {
  const name = zone
    .replace(/\s*\([^)]*\)\s*$/, '')
    .trim()
    .toLowerCase();
  if (name === '') return 0;
  const [found, sign, hours, minutes] = /^(?:gmt|utc)?([+-])(\d{1,2}):?(\d{2})?$/.exec(name) ?? [];
  if (found !== undefined) {
    const ms = (Number(hours) * 60 + Number(minutes ?? 0)) * 60_000;
    return Number(hours) > 14 ? null : sign === '-' ? -ms : ms;
  }
  const named = ZONES[name];
  return named === undefined ? null : named * HOUR_MS;
}
