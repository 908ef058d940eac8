import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

/** The two representations of a page, in the order that decides where a client has no preference. */
const PAGE_TYPES = ['text/html', 'text/markdown'] as const;
export type PageType = (typeof PAGE_TYPES)[number];

/** What an `Accept` header asks of a page. */
export interface Preference {
  /** The representation to send; null where the client accepts neither. */
  type: PageType | null;
  /** The client named a representation itself; an absent header and wildcards name none. */
  named: boolean;
}

/** Reads `Accept` headers; the same header is read once. */
export type Negotiate = (accept: string | undefined) => Preference;

const MAX_KEPT = 500;
const MAX_KEPT_LENGTH = 300;
const UNSTATED: Preference = { type: 'text/html', named: false };

/** Clients send a few dozen different headers: reading one took as long as all the rest of a page answer. */
export function createNegotiation(): Negotiate {
  const kept = new LRUCache<string, Preference>({ max: MAX_KEPT });
  return (accept) => {
    if (accept === undefined) return UNSTATED;
    const known = kept.get(accept);
    if (known !== undefined) return known;
    const preference = negotiate(accept);
    if (accept.length <= MAX_KEPT_LENGTH) kept.set(accept, preference);
    return preference;
  };
}

/** The highest q wins; on equal q, what the client names itself, and of that what it names first. */
function negotiate(accept: string): Preference {
  const ranges = mediaRanges(accept);
  if (ranges.length === 0) return UNSTATED;
  const header = ranges.map(({ type, q }) => `${type};q=${q}`).join(', ');
  const [best] = new Negotiator({ headers: { accept: header } }).mediaTypes([...PAGE_TYPES]);
  const type = PAGE_TYPES.find((candidate) => candidate === best) ?? null;
  return { type, named: ranges.some((range) => range.type === type) };
}

/**
 * The media ranges of a header, bare and in lower case: Negotiator takes parameters for part of the type, so that
 * `text/markdown;charset=utf-8` would match nothing. What is no media range is passed over.
 */
function mediaRanges(accept: string): { type: string; q: number }[] {
  return splitOutsideQuotes(accept, ',').flatMap((item) => {
    const [type = '', ...parameters] = splitOutsideQuotes(item, ';').map((part) => part.trim().toLowerCase());
    if (!/^[^\s/]+\/[^\s/]+$/.test(type)) return [];
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
    return [{ type, q: weight === undefined ? 1 : weightOf(weight) }];
  });
}

/** RFC 9110, section 12.4.2: 0 to 1. A weight that is no number says nothing, as if it were left out. */
function weightOf(parameter: string): number {
  const q = Number(parameter.replace(/^q\s*=\s*/, ''));
  return Number.isNaN(q) ? 1 : Math.min(1, Math.max(0, q));
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts = [''];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === separator && !quoted) {
      parts.push('');
      continue;
    }
    if (char === '"') quoted = !quoted;
    parts[parts.length - 1] += char;
    if (char === '\\' && quoted) parts[parts.length - 1] += text.charAt(++i);
  }
  return parts;
}
