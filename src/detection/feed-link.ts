import { decodeEntities } from './html-text.ts';

/** As much of a page as is searched: links to feeds stand in its head. */
const HEAD_CHARS = 200_000;
const FEED_TYPES = /^(application\/(rss|atom|rdf)\+xml|application\/feed\+json)$/i;
/** Ends at the next tag: looking past it from each of ten thousand would take half a second. */
const LINK = /<link\b[^<>]{0,4096}>/gi;
const ATTRIBUTE = /([a-z-]{1,20})\s*=\s*(?:"([^"]{0,2048})"|'([^']{0,2048})'|([^\s"'>]{1,2048}))/gi;

/** The feed that a web page names first; null where it names none, or is no web page. */
export function feedLinkIn(html: string, base: string): string | null {
  const head = html.slice(0, HEAD_CHARS);
  if (!/^\s*(?:<!--[\s\S]{0,2000}?-->\s*)?<(?:!doctype html|html|head)\b/i.test(head)) return null;
  for (const [tag] of head.matchAll(LINK)) {
    const attributes = new Map<string, string>();
    for (const [, name = '', double, single, bare] of tag.matchAll(ATTRIBUTE)) {
      attributes.set(name.toLowerCase(), decodeEntities(double ?? single ?? bare ?? ''));
    }
    const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/);
    const type = (attributes.get('type') ?? '').split(';')[0]?.trim() ?? '';
    const href = attributes.get('href')?.trim() ?? '';
    if (!rel.includes('alternate') || !FEED_TYPES.test(type) || href === '') continue;
    const url = URL.parse(href, base);
    if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  }
  return null;
}
