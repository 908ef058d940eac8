import { createHash } from 'node:crypto';
import { HOUR_MS, toIso } from '../lib/clock.ts';
import { codePointLength } from '../lib/text.ts';
import {
  MAX_TEXT_CODE_POINTS,
  type ObservedPost,
  observedPostSchema,
  type SignalType,
} from '../model/signal.ts';
import type { ScopedPost } from '../signals/plan-posts.ts';

/** Something that a source holds, as plain text. */
export interface SourceItem {
  /** What the source knows it by, the same each time it is read. */
  id: string;
  /** What tells its id apart from equal ones of its platform; left out: no other post has it. */
  idScope?: string;
  platform: string;
  /** Empty where there is none. */
  url: string;
  /** Unix milliseconds; null where it is unknown. */
  postedAt: number | null;
  title: string;
  body: string;
  author: string;
  company?: { name: string; location?: string; industry?: string };
  /** For jobs: the department, empty if not given; other items have none. */
  department?: string;
  /** Tools that a job names. */
  tools?: string[];
  signalType?: SignalType;
}

const MAX_ID = 300;
const KEY_CHARS = 16;
const TEXT_CHARS = 8;

/** What an item is remembered by: short, and no part of anybody's text. */
export function itemKey({ id }: Pick<SourceItem, 'id'>): string {
  return createHash('sha256').update(id).digest('base64url').slice(0, KEY_CHARS);
}

/**
 * What an item is remembered by together with its text, so that an edit of it is noticed: its key, and a digest of what its
 * author wrote. Those that were remembered before texts were are keys alone.
 */
export function itemMark(item: SourceItem): string {
  const text = JSON.stringify([item.title, item.body]);
  return itemKey(item) + createHash('sha256').update(text).digest('base64url').slice(0, TEXT_CHARS);
}

/** The key of a remembered item. */
export function keyOfMark(mark: string): string {
  return mark.slice(0, KEY_CHARS);
}

/** Whether the item is remembered with another text than it has. */
export function isEdited(item: SourceItem, mark: string): boolean {
  return mark.length > KEY_CHARS && mark !== itemMark(item);
}

/** An item as an observed post; null where nothing of it can be read. What does not fit a post's form is left out. */
export function toPost(item: SourceItem): ScopedPost | null {
  const post = postOf(item);
  return post === null || item.idScope === undefined ? post : { ...post, idScope: item.idScope };
}

function postOf(item: SourceItem): ObservedPost | null {
  const department = item.department ? `Department: ${toLine(item.department)}` : '';
  const parts = [item.title, department, toolsOf(item), bodyBeyond(item)];
  const text = cut(parts.filter((part) => part !== '').join('\n\n'));
  if (text === '') return null;
  const post = {
    platform: {
      name: item.platform,
      post_url: item.url,
      posted_at: item.postedAt === null ? '' : toIso(item.postedAt),
    },
    text,
    external_id: codePointLength(item.id) > MAX_ID ? itemKey(item) : item.id,
    ...(item.signalType && { signal_type: item.signalType }),
    ...(item.author === '' ? {} : { prospect: { name: toLine(item.author).slice(0, 200) } }),
    ...(item.company && { company: companyOf(item.company) }),
  };
  const checked = observedPostSchema.safeParse(post);
  if (checked.success) return checked.data;
  const bare = { platform: { name: item.platform }, text, external_id: post.external_id };
  return observedPostSchema.safeParse(bare).data ?? null;
}

/** What a job tells of what is worked with, where an excerpt still shows it. */
function toolsOf({ tools = [] }: SourceItem): string {
  return tools.length === 0 ? '' : `Tools: ${tools.join(', ')}`;
}

function companyOf({ name, location = '', industry = '' }: NonNullable<SourceItem['company']>) {
  return { name: toLine(name), location: toLine(location), industry: toLine(industry) };
}

/** Feeds break lines within names, which an observed post refuses. */
function toLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** Many feeds begin the body with the title. */
function bodyBeyond({ title, body }: SourceItem): string {
  return title !== '' && body.startsWith(title) ? body.slice(title.length).trim() : body;
}

function cut(text: string): string {
  if (text.length <= MAX_TEXT_CODE_POINTS) return text;
  return Array.from(text).slice(0, MAX_TEXT_CODE_POINTS).join('').trimEnd();
}

/** Why a source could not be read; `code` and `message` are what its owner sees. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly code: string;
  /** When the source asked to be read again at the earliest, Unix milliseconds; 0: it said nothing. */
  readonly retryAt: number;
  constructor(code: string, message: string, retryAt = 0) {
    super(message);
    this.code = code;
    this.retryAt = retryAt;
  }
}

/** Nothing failed: the host wants time between two requests, and the run is made when that is over. */
export class PutOff extends Error {
  override readonly name = 'PutOff';
  /** Unix milliseconds. */
  readonly until: number;
  constructor(until: number) {
    super('The host wants time between two requests.');
    this.until = until;
  }
}

/** The code of what was cut off as the process stops. */
export const STOPPED = 'stopped';

/** Not the source's doing: nothing is kept of such a run. */
export function stoppedFault(): SourceFault {
  return new SourceFault(STOPPED, 'The process is stopping.');
}

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
