import { type AtomFeed, type JsonFeed, parseFeed, type RdfFeed, type RssFeed } from 'feedsmith';
import { decodeText } from '../documents/decode-text.ts';
import { boundedItems, crowdOf, type Parser, withoutClasses } from '../documents/parser.ts';
import { decodeEntities, htmlToText } from '../html-text.ts';
import { demandSuccess, type Reader, type Reading, type ReadingTask, validatorsOf } from '../reader.ts';
import { readTime, SourceFault, type SourceItem } from '../source-item.ts';
import type { FetchedPage } from '../web.ts';

const ACCEPT =
  'application/atom+xml, application/rss+xml, application/rdf+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1';

/** Parses a feed into items. With `orLink`, if the document is a web page, returns the URL of the feed that it links to. */
export const feedDocument: Parser<{ orLink: boolean }, { items: SourceItem[]; link: string | null }> = {
  name: 'feed',
  parse({ body, contentType, url }, { orLink }) {
    const text = decodeText(body, contentType);
    const link = orLink ? feedLinkIn(text, url) : null;
    return link === null || link === url ? { items: readFeed(text, url), link: null } : { items: [], link };
  },
};

/**
 * Reads any RSS, Atom, RDF or JSON feed. For a web page, reads the feed that it links to, and stores the
 * feed's URL; if there is no feed any more, looks for another one on the page.
 */
export const readFeedSource: Reader = async (task) => {
  const { source, position } = task;
  const address = source.settings.url ?? '';
  const found = position.cursor ?? null;
  const page = await ask(task, found ?? address);
  if (page.status === 304) return { items: [], position };
  if (found === null) return readAt(task, page, null);
  if (page.status !== 404 && page.status !== 410) {
    try {
      return await readAt(task, page, found);
    } catch (error) {
      if (!isNoFeed(error)) throw error;
    }
  }
  const start = await ask(fresh(task), address);
  return readAt(task, start, null).catch((error) =>
    Promise.reject(isNoFeed(error) ? noFeed(FEED_GONE) : error),
  );
};

async function readAt(task: ReadingTask, page: FetchedPage, found: string | null): Promise<Reading> {
  const { items, link } = await task.parse(feedDocument, demandSuccess(page), { orLink: found === null });
  if (link === null) return { items, position: { ...validatorsOf(page), cursor: found } };
  try {
    return await readAt(task, await ask(fresh(task), link), link);
  } catch (error) {
    throw isNoFeed(error) ? noFeed(NOT_A_FEED) : error;
  }
}

const CHECKED_AGAIN = 'The page is checked again, at growing intervals.';
const NOT_A_FEED = `The page links to a feed, but the response there is not a feed. ${CHECKED_AGAIN}`;
const FEED_GONE = `The feed that the page linked to is no longer a feed, and the page links to no other. ${CHECKED_AGAIN}`;

function noFeed(message: string): SourceFault {
  return new SourceFault('invalid_feed', message);
}

function isNoFeed(error: unknown): boolean {
  return error instanceof SourceFault && error.code === 'invalid_feed';
}

function fresh(task: ReadingTask): ReadingTask {
  return { ...task, position: { ...task.position, etag: null, lastModified: null } };
}

function ask({ web, position: { etag, lastModified } }: ReadingTask, address: string): Promise<FetchedPage> {
  return web.read(address, { accept: ACCEPT, etag, lastModified, robots: true });
}

/** An item as in its format, with texts in HTML. */
interface RawItem {
  id: string | undefined;
  link: string | undefined;
  date: string | undefined;
  title: string | undefined;
  body: string | undefined;
  author: string | undefined;
  /** URL of its discussion. */
  comments?: string | undefined;
}

/**
 * Maximum number of items, which are the newest in almost every feed; as many are remembered (`MAX_SEEN`).
 */
const MOST_ITEMS = 5_000;
/** Maximum length of a person's name; `address (name)` is shorter. */
const MAX_PERSON = 300;
/** Maximum length of a person with several elements: name, address and page. */
const MAX_PERSON_ELEMENTS = 1_000;

/** Parses an RSS, Atom, RDF or JSON feed from `url` into items. @throws SourceFault `invalid_feed` */
export function readFeed(text: string, url: string): SourceItem[] {
  const { items, base } = parse(text);
  const start = resolve(base ?? '', url) || url;
  const read = items
    .slice(0, MOST_ITEMS)
    .map((raw) => ({ ...toItem(raw, start), ...scopeOf(raw, url) }))
    .filter((item) => item.title !== '' || item.body !== '');
  return boundedItems(read, MOST_ITEMS);
}

/** URLs, other URIs, and Reddit's names of posts, which identify a post everywhere. */
const IS_KNOWN_EVERYWHERE = /^(?:[a-z][a-z0-9+.-]*:|t[1-6]_\w+$)/i;

/** Any other ID is only unique within its feed: every second blog has a post 1. */
function scopeOf({ id = '' }: RawItem, url: string): { idScope?: string } {
  const own = id.trim();
  return own === '' || IS_KNOWN_EVERYWHERE.test(own) ? {} : { idScope: feedName(url) };
}

function feedName(url: string): string {
  const { host, pathname, search } = new URL(url);
  return host + pathname + search;
}

function parse(text: string): { items: RawItem[]; base: string | undefined } {
  const { format, feed } = parsed(text);
  switch (format) {
    case 'rss':
      return { items: (feed.items ?? []).map(fromRss), base: feed.xml?.base ?? feed.link };
    case 'atom':
      return { items: (feed.entries ?? []).map(fromAtom), base: feed.xml?.base };
    case 'rdf':
      return { items: (feed.items ?? []).map(fromRdf), base: feed.link };
    case 'json':
      return { items: (feed.items ?? []).map(fromJson), base: feed.home_page_url };
  }
}

const OPTIONS = { maxItems: MOST_ITEMS };

function parsed(given: string) {
  const isJson = /^\s*\{/.test(given);
  const crowd = isJson && crowdOf(given);
  if (crowd) throw new SourceFault('invalid_feed', `The feed ${crowd}.`);
  const text = shortPersons(isJson ? withoutClasses(given) : given);
  try {
    return parseFeed(text, OPTIONS);
  } catch (error) {
    const inner = wrappedFeed(text);
    if (inner !== null) return parseInner(inner);
    throw invalid(text, error);
  }
}

function parseInner(text: string) {
  try {
    return parseFeed(text, OPTIONS);
  } catch (error) {
    throw invalid(text, error);
  }
}

/** Matches elements that name a person. The parser takes time quadratic in the number of brackets in them. */
const PERSON = /<(\/?)((?:[\w.-]{1,40}:)?(?:author|managingeditor|webmaster))\b[^<>]{0,200}>/gi;

/** Shortens the content of such elements to the length of a person's name. */
function shortPersons(text: string): string {
  const pieces: string[] = [];
  let kept = 0;
  let open: { name: string; end: number } | null = null;
  for (const { 0: tag, 1: slash, 2: name = '', index } of text.matchAll(PERSON)) {
    if (slash === '') {
      open = { name, end: index + tag.length };
      continue;
    }
    if (open?.name === name && index - open.end > MAX_PERSON) {
      pieces.push(text.slice(kept, open.end), shortPerson(text.slice(open.end, index)));
      kept = index;
    }
    open = null;
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(kept);
}

/**
 * Truncates plain text. Content with elements is kept up to the length of an Atom person, and otherwise
 * removed.
 */
function shortPerson(content: string): string {
  if (!content.includes('<')) return content.slice(0, MAX_PERSON).replace(/&[^;]{0,40}$/, '');
  return content.length <= MAX_PERSON_ELEMENTS ? content : '';
}

/** Extracts a feed that is embedded in an HTML page, as some sites send it. */
function wrappedFeed(text: string): string | null {
  const open = /<(feed|rss|rdf:RDF)[\s>]/i.exec(text);
  if (open === null) return null;
  const close = text.toLowerCase().lastIndexOf(`</${open[1]?.toLowerCase()}>`);
  return close === -1 ? null : text.slice(open.index, text.indexOf('>', close) + 1);
}

function invalid(text: string, error: unknown): SourceFault {
  const start = text.trimStart();
  if (start === '') return new SourceFault('invalid_feed', 'The response is empty.');
  if (/^<!doctype html|^<html/i.test(start)) {
    const detail = 'The URL is that of a web page. Look on the page for the URL of its feed.';
    return new SourceFault('invalid_feed', detail);
  }
  const broken = error instanceof Error && error.name === 'MalformedError';
  const detail = broken ? 'it is truncated or not well-formed' : 'it is not RSS, Atom, RDF or JSON Feed';
  return new SourceFault('invalid_feed', `The response is not a valid feed: ${detail}.`);
}

function fromRss(item: RssFeed.Item<string>): RawItem {
  return {
    id: item.guid?.value,
    link: item.link ?? (item.guid?.isPermaLink === false ? undefined : item.guid?.value),
    date: item.pubDate ?? item.dc?.dates?.[0],
    title: item.title ?? item.itunes?.title ?? mediaOf(item.media, 'title'),
    body:
      fullest(item.content?.encoded, item.description) ??
      item.itunes?.summary ??
      mediaOf(item.media, 'description'),
    author: personName(item.authors?.[0]) ?? item.dc?.creators?.[0] ?? item.itunes?.author,
    comments: item.comments,
  };
}

function fromAtom(entry: AtomFeed.Entry<string>): RawItem {
  const links = entry.links ?? [];
  const link = links.find(({ rel }) => rel === undefined || rel === 'alternate') ?? links[0];
  const base = entry.xml?.base ?? entry.content?.xml?.base;
  return {
    id: entry.id,
    link: link?.href === undefined || base === undefined ? link?.href : resolve(link.href, base) || link.href,
    date: entry.published ?? entry.updated,
    title: entry.title?.value,
    body: fullest(entry.content?.value, entry.summary?.value) ?? mediaOf(entry.media, 'description'),
    author: entry.authors?.[0]?.name ?? entry.dc?.creators?.[0],
  };
}

function fromRdf(item: RdfFeed.Item<string>): RawItem {
  return {
    id: item.rdf?.about,
    link: item.link,
    date: item.dc?.dates?.[0],
    title: item.title,
    body: item.content?.encoded ?? item.description,
    author: item.dc?.creators?.[0],
  };
}

function fromJson(item: JsonFeed.Item<string>): RawItem {
  return {
    id: item.id,
    link: item.url ?? item.external_url,
    date: item.date_published,
    title: item.title,
    body: item.content_html ?? item.content_text ?? item.summary,
    author: item.authors?.[0]?.name,
  };
}

/** The first text that is not blank. */
function fullest(...texts: (string | undefined)[]): string | undefined {
  return texts.find((text) => (text ?? '').trim() !== '');
}

interface Media {
  title?: { value?: string };
  description?: { value?: string };
}

/** Media metadata is on the item itself, or on its group or contents. */
function mediaOf(
  media: (Media & { groups?: Media[]; contents?: Media[] }) | undefined,
  name: keyof Media,
): string | undefined {
  return [media, ...(media?.groups ?? []), ...(media?.contents ?? [])]
    .map((one) => one?.[name]?.value)
    .find(Boolean);
}

/** RSS 2.0 specifies `address (name)`, but feeds contain anything. */
function personName(person: RssFeed.Person | undefined): string | undefined {
  const name = (typeof person === 'string' ? person : person?.name)?.slice(0, MAX_PERSON);
  return typeof person === 'string' ? (/\(([^()]+)\)/.exec(name ?? '')?.[1] ?? name) : name;
}

function toItem(raw: RawItem, base: string): SourceItem {
  const url = discussionOf(unwrapLink(resolve(raw.link ?? '', base)), resolve(raw.comments ?? '', base));
  const title = htmlToText(raw.title ?? '').replace(/\s+/g, ' ');
  const body = htmlToText(raw.body ?? '');
  return {
    id: (raw.id ?? '').trim() || url || `${title}\n${body}`,
    platform: platformOf(url || base),
    url,
    postedAt: readTime(raw.date),
    title,
    body,
    author: htmlToText(raw.author ?? '').replace(/^\/?u\//, ''),
  };
}

/**
 * The URL of the post: the discussion if it is on a different host than the article; comments on the same
 * host are part of the article's page.
 */
function discussionOf(link: string, comments: string): string {
  if (comments === '' || link === '') return link || comments;
  return new URL(comments).host === new URL(link).host ? link : comments;
}

/** An absolute HTTP URL, or an empty string. */
function resolve(link: string, base: string): string {
  const url = link.trim() === '' ? null : URL.parse(link.trim(), base);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : '';
}

/** Only the head of a page is searched: it contains the links to feeds. */
const HEAD_CHARS = 200_000;
const FEED_TYPES = /^(application\/(rss|atom|rdf)\+xml|application\/feed\+json)$/i;
/** Stops at the next tag: scanning past it from each of ten thousand tags would take half a second. */
const LINK = /<link\b[^<>]{0,4096}>/gi;
const BASE = /<base\b[^<>]{0,4096}>/i;
const ATTRIBUTE = /([a-z-]{1,20})\s*=\s*(?:"([^"]{0,2048})"|'([^']{0,2048})'|([^\s"'>]{1,2048}))/gi;

/** The first feed that a web page links to; null if there is none or it is not a web page. */
export function feedLinkIn(html: string, address: string): string | null {
  const head = html.slice(0, HEAD_CHARS);
  if (!/^\s*(?:<!--[\s\S]{0,2000}?-->\s*)?<(?:!doctype html|html|head)\b/i.test(head)) return null;
  const [baseTag = ''] = BASE.exec(head) ?? [];
  const base = URL.parse(attributesOf(baseTag).get('href')?.trim() ?? '', address)?.href ?? address;
  for (const [tag] of head.matchAll(LINK)) {
    const attributes = attributesOf(tag);
    const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/);
    const type = (attributes.get('type') ?? '').split(';')[0]?.trim() ?? '';
    const href = attributes.get('href')?.trim() ?? '';
    if (!rel.includes('alternate') || !FEED_TYPES.test(type) || href === '') continue;
    const url = URL.parse(href, base);
    if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  }
  return null;
}

function attributesOf(tag: string): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name = '', double, single, bare] of tag.matchAll(ATTRIBUTE)) {
    attributes.set(name.toLowerCase(), decodeEntities(double ?? single ?? bare ?? ''));
  }
  return attributes;
}

/** Sites with a display name, whichever of their subdomains a post is on. */
const NAMES: [host: string, name: string][] = [
  ['reddit.com', 'reddit'],
  ['github.com', 'github'],
  ['news.ycombinator.com', 'hackernews'],
  ['hnrss.org', 'hackernews'],
  ['stackoverflow.com', 'stackoverflow'],
  ['superuser.com', 'superuser'],
  ['serverfault.com', 'serverfault'],
  ['askubuntu.com', 'askubuntu'],
  ['linkedin.com', 'linkedin'],
  ['youtube.com', 'youtube'],
  ['medium.com', 'medium'],
];

/** The platform of a post at `address`: its name if it is known, otherwise its host. */
function platformOf(address: string): string {
  const host = (URL.parse(address)?.hostname ?? '').replace(/^www\./, '').replace(/\.$/, '');
  const known = NAMES.find(([site]) => host === site || host.endsWith(`.${site}`));
  if (known !== undefined) return known[1];
  if (host.endsWith('.stackexchange.com')) return host.slice(0, -'.stackexchange.com'.length);
  const name = host
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, 64);
  return name === '' ? 'web' : name;
}

/** Hosts of redirect links, and the parameters that contain their target. */
const WRAPPERS: [host: RegExp, path: RegExp, parameters: string[]][] = [
  [/^(www\.)?google\.[a-z.]{2,6}$/, /^\/url$/, ['url', 'q']],
  [/^(www\.)?bing\.com$/, /^\/news\/apiclick\.aspx$/, ['url']],
  [/^lm?\.facebook\.com$/, /^\/l\.php$/, ['u']],
  [/^out\.reddit\.com$/, /./, ['url']],
  [/^(www\.)?youtube\.com$/, /^\/redirect$/, ['q']],
  [/\.safelinks\.protection\.outlook\.com$/, /./, ['url']],
  [/^t\.umblr\.com$/, /^\/redirect$/, ['z']],
];
const MAX_LAYERS = 3;

/** The final target of a link, as far as the link itself contains it. */
export function unwrapLink(link: string): string {
  let address = link;
  for (let layer = 0; layer < MAX_LAYERS; layer++) {
    const inner = innerOf(address);
    if (inner === null) return address;
    address = inner;
  }
  return address;
}

function innerOf(address: string): string | null {
  const url = URL.parse(address);
  if (url === null) return null;
  const wrapper = WRAPPERS.find(([host, path]) => host.test(url.hostname) && path.test(url.pathname));
  const target =
    wrapper?.[2].map((name) => url.searchParams.get(name)).find((value) => value !== null) ?? null;
  const inner = target === null ? null : URL.parse(target);
  return inner !== null && /^https?:$/.test(inner.protocol) ? inner.href : null;
}
