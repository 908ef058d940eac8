import { hash } from 'node:crypto';
import { HOUR_MS, toIso } from '../lib/clock.ts';
import { codePointLength } from '../lib/text.ts';
import {
  MAX_TEXT_CODE_POINTS,
  type ObservedPost,
  observedPostSchema,
  type SignalType,
} from '../model/signal.ts';
import type { ScopedPost } from '../signals/plan-posts.ts';

/** An item of a source, as plain text. */
export interface SourceItem {
  /** The item's ID in the source, the same in every run. */
  id: string;
  /** Distinguishes equal IDs on its platform; omitted if the ID is unique there. */
  idScope?: string;
  platform: string;
  /** Empty if there is none. */
  url: string;
  /** Unix milliseconds; null if unknown. */
  postedAt: number | null;
  title: string;
  body: string;
  author: string;
  company?: { name: string; location?: string; industry?: string };
  /** The department of a job, empty if not given; omitted for other items. */
  department?: string;
  /** Tools that a job names. */
  tools?: string[];
  signalType?: SignalType;
}

const MAX_ID = 300;
const MAX_NAME = 200;
const KEY_CHARS = 16;
const TEXT_CHARS = 8;
const LINK_CHARS = 6;

/** The key by which an item is remembered: short, and without any of its text. */
export function itemKey({ id }: Pick<SourceItem, 'id'>): string {
  return hash('sha256', id, 'base64url').slice(0, KEY_CHARS);
}

/**
 * The mark by which an item is remembered together with its text, so that edits are detected: its key, a digest of the
 * author's text, and one of its URL. Items remembered before marks existed have a key only.
 */
export function itemMark(item: SourceItem): string {
  const text = JSON.stringify([item.title, item.body]);
  const link = item.url === '' ? '' : hash('sha256', item.url, 'base64url').slice(0, LINK_CHARS);
  return itemKey(item) + hash('sha256', text, 'base64url').slice(0, TEXT_CHARS) + link;
}

/** The key in a mark. */
export function keyOfMark(mark: string): string {
  return mark.slice(0, KEY_CHARS);
}

/** The digest of the text in a mark; empty if it has none. */
export function textOfMark(mark: string): string {
  return mark.slice(KEY_CHARS, KEY_CHARS + TEXT_CHARS);
}

/** The digest of the URL in a mark; empty if it has none. */
export function linkOfMark(mark: string): string {
  return mark.slice(KEY_CHARS + TEXT_CHARS);
}

/** The digests of the text and the URL in a mark. */
export function contentOfMark(mark: string): string {
  return mark.slice(KEY_CHARS);
}

/** Whether the text of an item with this mark differs from the remembered one. */
export function isEdited(mark: string, known: string): boolean {
  return textOfMark(known) !== '' && textOfMark(known) !== textOfMark(mark);
}

/**
 * Converts items to observed posts, without those that have no text. `nextTurn` yields when due: fifty of the
 * longest items take a tenth of a second.
 */
export async function toPosts(
  items: readonly SourceItem[],
  nextTurn: () => Promise<void>,
): Promise<ScopedPost[]> {
  const posts: ScopedPost[] = [];
  for (const item of items) {
    const post = toPost(item);
    if (post !== null) posts.push(post);
    await nextTurn();
  }
  return posts;
}

/** Converts an item to an observed post; null if it has no text. Invalid members are omitted. */
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
    ...(item.author === '' ? {} : { prospect: { name: nameOf(item.author) } }),
    ...(item.company && { company: companyOf(item.company) }),
  };
  const checked = observedPostSchema.safeParse(post);
  if (checked.success) return checked.data;
  const bare = { platform: { name: item.platform }, text, external_id: post.external_id };
  return observedPostSchema.safeParse(bare).data ?? null;
}

/** The tools that a job names, at the beginning, where an excerpt still shows them. */
function toolsOf({ tools = [] }: SourceItem): string {
  return tools.length === 0 ? '' : `Tools: ${tools.join(', ')}`;
}

function companyOf({ name, location = '', industry = '' }: NonNullable<SourceItem['company']>) {
  return { name: toLine(name), location: toLine(location), industry: toLine(industry) };
}

/** An author's name, cut between characters. */
function nameOf(author: string): string {
  const name = toLine(author).slice(0, MAX_NAME);
  return name.isWellFormed() ? name : name.slice(0, -1);
}

/** Replaces line breaks within names, which feeds contain and observed posts reject. */
function toLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** The body without the title, with which many feeds begin it. */
function bodyBeyond({ title, body }: SourceItem): string {
  return title !== '' && body.startsWith(title) ? body.slice(title.length).trim() : body;
}

function cut(text: string): string {
  if (text.length <= MAX_TEXT_CODE_POINTS) return text;
  return Array.from(text).slice(0, MAX_TEXT_CODE_POINTS).join('').trimEnd();
}

/** Why a source could not be read; `code` and `message` are shown to its owner. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly code: string;
  /** The earliest time at which the source may be read again, Unix milliseconds; 0 if it did not say. */
  readonly retryAt: number;
  constructor(code: string, message: string, retryAt = 0) {
    super(message);
    this.code = code;
    this.retryAt = retryAt;
  }
}

/** Not a failure: the host requires time between two requests, and the run is postponed until then. */
export class PutOff extends Error {
  override readonly name = 'PutOff';
  /** Unix milliseconds. */
  readonly until: number;
  constructor(until: number) {
    super('The host requires time between two requests.');
    this.until = until;
  }
}

/** The code of a document that took too much time or memory to parse. */
export const TOO_COSTLY = 'document_too_costly';

/** The code of a run that was cancelled because the process is stopping. */
export const STOPPED = 'stopped';

/** The error of a cancelled run. It is not the source's fault and is not stored. */
export function stoppedFault(): SourceFault {
  return new SourceFault(STOPPED, 'The process is stopping.');
}

const LAST_TIME_MS = Date.UTC(2999, 11, 31);
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * Hours east of UTC. Only names with a single meaning; ambiguous ones (IST, BST, CST of China…) are omitted.
 */
const ZONES: Record<string, number> = {
  z: 0,
  ut: 0,
  utc: 0,
  gmt: 0,
  est: -5,
  edt: -4,
  cst: -6, // RFC 822 defines the American zones
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
// Mon, 05 Jan 2026 10:00:00 GMT (RFC 822, 850, 5322), with short or full names of days and months
const DAY_FIRST =
  /^(?:[a-z]+\.?,?\s+)?(\d{1,2})[\s-]+([a-z]{3,9})\.?,?[\s-]+(\d{4}|\d{2})(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(.*))?$/i;
// Mon Jan 5 10:00:00 2026 (asctime) and Jan 5, 2026 10:00 GMT
const ASCTIME =
  /^[a-z]{3,9}\s+([a-z]{3,9})\s+(\d{1,2})\s+(\d{1,2}):(\d{2}):(\d{2})(?:\s+([a-z]{1,5}))?\s+(\d{4})$/i;
const MONTH_FIRST =
  /^(?:[a-z]+,?\s+)?([a-z]{3,9})\.?\s+(\d{1,2}),?\s+(\d{4})(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(.*))?$/i;

/**
 * Parses a time as sources format it, into Unix milliseconds. Without a zone it is UTC, whatever the local
 * zone. Null if it is not a time, or is ambiguous (01/02/2026, an unknown zone): no time is better than a
 * wrong one.
 */
export function readTime(text: string | undefined | null): number | null {
  const given = (text ?? '').trim().slice(0, 100);
  const ms = iso(given) ?? dayFirst(given) ?? asctime(given) ?? monthFirst(given);
  return ms === null ? null : validTime(ms);
}

/** A time in whole milliseconds; null if it is not one that can be stored. */
export function validTime(ms: number): number | null {
  return ms >= 0 && ms <= LAST_TIME_MS ? Math.floor(ms) : null;
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
  // A leap second counts as the first second of the next minute.
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

/** A service's ID as a part of a URL. A lone surrogate, which JSON can contain, would be an error. */
export function urlPart(id: string): string {
  return encodeURIComponent(id.toWellFormed());
}
