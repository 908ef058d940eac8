import { createHash } from 'node:crypto';
import { toIso } from '../lib/clock.ts';
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
