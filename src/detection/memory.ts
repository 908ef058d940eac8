import type { Source, SourcePosition } from '../model/source.ts';
import type { ClaimedSource } from '../store/source-store.ts';
import type { Reading } from './reader.ts';
import {
  contentOfMark,
  isEdited,
  itemMark,
  keyOfMark,
  linkOfMark,
  type SourceItem,
  textOfMark,
} from './source-item.ts';

/** Minimum number of items to remember; otherwise twice the number that the source shows. */
const MIN_SEEN = 500;
/** Maximum number of items to remember, whatever a source shows: they are read and written with every run. */
const MAX_SEEN = 5_000;

/** An item, and the mark by which it will be remembered. */
export interface MarkedItem {
  item: SourceItem;
  mark: string;
}

/**
 * Computes the marks of all items, once per run. Hashing five thousand items takes 50 ms, so it yields:
 * `nextTurn` is called after each item.
 */
export async function markItems(
  items: readonly SourceItem[],
  nextTurn: () => Promise<void>,
): Promise<MarkedItem[]> {
  const marked: MarkedItem[] = [];
  for (const item of items) {
    marked.push({ item, mark: itemMark(item) });
    await nextTurn();
  }
  return marked;
}

/** Edits of these appear as changed postings, or their text is missing after the first run. */
const NEVER_EDITED: readonly Source['kind'][] = ['sec_form_d', 'smartrecruiters'];

/** The marks of remembered items, by key. */
export function marksOf({ source, position }: ClaimedSource): Map<string, string> {
  const isCompared = !NEVER_EDITED.includes(source.kind);
  return new Map(
    position.seen.map((mark) => {
      const key = keyOfMark(mark);
      return [key, isCompared ? mark : key];
    }),
  );
}

/** New items, and items that their authors have edited. Changes of jobs are separate items. */
export function unseen(
  items: readonly MarkedItem[],
  marks: ReadonlyMap<string, string>,
  { kind, lastSuccessAt }: Pick<Source, 'kind' | 'lastSuccessAt'>,
): MarkedItem[] {
  const met = new Set<string>();
  const isRenamed = kind === 'rss' ? createRenamedTest(items, marks, lastSuccessAt ?? 0) : () => false;
  return items.filter(({ item, mark }) => {
    const key = keyOfMark(mark);
    if (met.has(key)) return false;
    met.add(key);
    const known = marks.get(key);
    if (known === undefined) return !isRenamed({ item, mark });
    return item.department === undefined && isEdited(mark, known);
  });
}

/** Whether a source that was read before shows only items with other IDs. */
export function areAllNew(items: readonly MarkedItem[], marks: ReadonlyMap<string, string>): boolean {
  return marks.size > 0 && !items.some(({ mark }) => marks.has(keyOfMark(mark)));
}

/**
 * Creates a test for remembered items with new IDs, which some feeds generate for each response. An item with the text and
 * the URL of one that is no longer shown is the same. If no ID is known, either is enough, provided that at least half of the
 * items are recognized by it: by their texts or, because some texts contain the time or a number of views, by their URLs, of which at least
 * two must be known. A URL that several items share identifies none of them, nor one that is younger than the last reading, such as the newest
 * comment on an article.
 */
function createRenamedTest(
  items: readonly MarkedItem[],
  marks: ReadonlyMap<string, string>,
  readAt: number,
): (shown: MarkedItem) => boolean {
  const shown = new Set(items.map(({ mark }) => keyOfMark(mark)));
  const gone = [...marks.values()].filter((mark) => textOfMark(mark) !== '' && !shown.has(keyOfMark(mark)));
  if (areAllNew(items, marks)) {
    const least = Math.min(items.length, gone.length) / 2;
    const texts = new Set(gone.map(textOfMark));
    const hasText = ({ mark }: MarkedItem) => texts.has(textOfMark(mark));
    if (items.filter(hasText).length >= least) return hasText;
    const links = new Set(gone.map(linkOfMark));
    const shared = sharedLinks(items);
    const hasLink = ({ item: { url, postedAt }, mark }: MarkedItem) =>
      url !== '' &&
      !shared.has(url) &&
      (postedAt === null || postedAt <= readAt) &&
      links.has(linkOfMark(mark));
    if (items.filter(hasLink).length >= Math.max(least, 2)) return hasLink;
  }
  const contents = new Set(gone.map(contentOfMark));
  return ({ mark }) => contents.has(contentOfMark(mark));
}

/** The URLs that several of these items have. */
function sharedLinks(items: readonly MarkedItem[]): ReadonlySet<string> {
  const met = new Set<string>();
  return new Set(items.flatMap(({ item: { url } }) => (met.has(url) ? [url] : met.add(url) && [])));
}

/** The first, and thus most recent, mark of each item. */
function distinct(marks: readonly string[]): string[] {
  const byKey = new Map<string, string>();
  for (const mark of marks) {
    const key = keyOfMark(mark);
    if (!byKey.has(key)) byKey.set(key, mark);
  }
  return [...byKey.values()];
}

/**
 * The position after a complete run, in which the source showed `items`. Their marks come first: items that a
 * feed still shows must not be forgotten.
 */
export function advanced(
  before: SourcePosition,
  { position }: Pick<Reading, 'position'>,
  items: readonly MarkedItem[],
): SourcePosition {
  const keep = keptOf(Math.max(2 * items.length, items.length === 0 ? before.seen.length : 0));
  const seen = distinct([...items.map(({ mark }) => mark), ...before.seen]).slice(0, keep);
  const { etag = null, lastModified = null, newestAt = null, cursor = null } = position;
  return { etag, lastModified, newestAt, cursor, seen };
}

/**
 * The position after a partial run, which took only some of the items: the same starting point without
 * validators, so that the source shows the rest again.
 */
export function partOf(
  before: SourcePosition,
  items: readonly MarkedItem[],
  taken: readonly MarkedItem[],
): SourcePosition {
  const marks = distinct([...taken.map(({ mark }) => mark), ...before.seen]);
  const known = new Map(marks.map((mark) => [keyOfMark(mark), mark]));
  const shown = items.map(({ mark }) => known.get(keyOfMark(mark))).filter((mark) => mark !== undefined);
  const seen = distinct([...shown, ...before.seen]).slice(0, keptOf(2 * items.length));
  return { ...before, etag: null, lastModified: null, seen };
}

function keptOf(wanted: number): number {
  return Math.min(Math.max(MIN_SEEN, wanted), MAX_SEEN);
}
