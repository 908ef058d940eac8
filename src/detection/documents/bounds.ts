import { readWordTable, wordsSchema } from '../../lib/word-table.ts';
import { MAX_TEXT_CODE_POINTS } from '../../model/signal.ts';
import { itemKey, type SourceItem } from '../source-item.ts';

/** Items of one answer; services show 100 at most, unless their reader says otherwise. */
export const MOST_ITEMS = 500;
/** All texts of one answer together, in UTF-16 units: what the receiving thread copies in some milliseconds. */
const MOST_CHARACTERS = 6 * 1024 * 1024;
const MAX_ID = 300;
const MAX_URL = 2_048;
const MAX_NAME = 300;
/** As much of a job as is searched for the tools it names. */
const MAX_SEARCHED = 100_000;

/** The first items, each with texts of bounded length: what a post keeps of them stays as it is. */
export function boundedItems(items: readonly SourceItem[], most = MOST_ITEMS): SourceItem[] {
  const bounded: SourceItem[] = [];
  let left = MOST_CHARACTERS;
  for (const item of items.slice(0, most)) {
    const next = boundedItem(item);
    left -= next.title.length + next.body.length + next.url.length + next.id.length;
    if (left < 0) break;
    bounded.push(next);
  }
  return bounded;
}

/** A single item, as {@link boundedItems}. */
export function boundedItem(item: SourceItem): SourceItem {
  const { company, department, title, body } = item;
  const tools = department === undefined ? [] : toolsNamed(`${title}\n${body}`.slice(0, MAX_SEARCHED));
  return {
    id: boundedId(item.id),
    ...(item.idScope !== undefined && { idScope: cut(item.idScope, MAX_URL) }),
    platform: cut(item.platform, MAX_NAME),
    // Half an address leads nowhere.
    url: item.url.length > MAX_URL ? '' : item.url,
    postedAt: item.postedAt,
    title: cut(title, MAX_TEXT_CODE_POINTS),
    body: cut(body, MAX_TEXT_CODE_POINTS),
    author: cut(item.author, MAX_NAME),
    ...(company && { company: boundedCompany(company) }),
    ...(department !== undefined && { department: cut(department, MAX_NAME) }),
    ...(tools.length > 0 && { tools }),
    ...(item.signalType && { signalType: item.signalType }),
  };
}

/** A longer id is known by its digest. */
export function boundedId(id: string): string {
  return isWithin(id, MAX_ID) ? id : itemKey({ id });
}

function boundedCompany({ name, location, industry }: NonNullable<SourceItem['company']>) {
  return {
    name: cut(name, MAX_NAME),
    ...(location !== undefined && { location: cut(location, MAX_NAME) }),
    ...(industry !== undefined && { industry: cut(industry, MAX_NAME) }),
  };
}

/** At most `max` code points. */
function cut(text: string, max: number): string {
  if (isWithin(text, max)) return text;
  // No code point has more than two units.
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('')
    .trimEnd();
}

function isWithin(text: string, max: number): boolean {
  if (text.length <= max) return true;
  if (text.length > 2 * max) return false;
  let points = 0;
  for (const _ of text) points++;
  return points <= max;
}

/** Products that companies name in job posts, in their makers' spelling: in lower case many are everyday words. */
const TOOLS = readWordTable('tools', wordsSchema);

const MAX_TOOLS = 10;

// Longest first, so that "Microsoft Teams" wins over "Teams".
const NAMES = [...TOOLS].sort((a, b) => b.length - a.length).map((name) => name.replaceAll('.', '\\.'));
const PATTERN = new RegExp(`(?<![\\p{L}\\p{N}])(?:${NAMES.join('|')})(?![\\p{L}\\p{N}])`, 'gu');

/** The first tools that a job post names, each once, in its order. */
export function toolsNamed(text: string): string[] {
  const found = new Set<string>();
  for (const [name] of text.matchAll(PATTERN)) {
    found.add(name);
    if (found.size === MAX_TOOLS) break;
  }
  return [...found];
}
