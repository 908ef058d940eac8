import { createHash } from 'node:crypto';
import { parseUrl, withoutTrailingSlashes } from '../lib/text.ts';
import { personKeys } from '../model/person-keys.ts';

/** The origin of a post, in the form in which profiles mute it. */
export interface Origin {
  /** A digest that does not reveal the author; null if unknown. */
  author: string | null;
  /** The site of the post's URL, and the name of its platform. */
  sources: readonly string[];
}

const KEY_UNITS = 24;

/** Identifies the author by the best known fact. A name only counts together with its platform. */
export function originOf(
  prospect: { name?: string | undefined; email?: string | undefined; linkedin_url?: string | undefined },
  platform: { name: string; post_url?: string | undefined },
): Origin {
  const [known] = personKeys({ email: prospect.email ?? '', linkedin_url: prospect.linkedin_url ?? '' });
  const source = platform.name.trim().toLowerCase();
  const name = (prospect.name ?? '').trim().toLowerCase();
  const key = known ?? (name === '' ? null : `name:${source}:${name}`);
  const site = siteOf(platform.post_url ?? '');
  return {
    author: key === null ? null : createHash('sha256').update(key).digest('hex').slice(0, KEY_UNITS),
    sources: site === null || site === source ? [source] : [site, source],
  };
}

function siteOf(url: string): string | null {
  return parseUrl(url)?.hostname.replace(/^www\./, '') || null;
}

const TRACKING =
  /^(utm_|fbclid$|gclid$|msclkid$|mc_[ce]id$|igshid$|ref$|ref_src$|ref_source$|share_id$|si$|trk$|rcm$|context$)/;

/**
 * The canonical form of a post's URL, for recognising the post: https, host without `www.`, no tracking
 * parameters, sorted query, no trailing slash. The fragment stays, because a page may contain many posts.
 * Null if it is not a URL.
 */
export function canonicalUrl(text: string): string | null {
  const url = parseUrl(text);
  if (url === null) return null;
  const host = url.host.replace(/^(www|old|new|m|mobile)\./, '');
  const kept = [...url.searchParams].filter(([name]) => !TRACKING.test(name.toLowerCase()));
  kept.sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)));
  const query = new URLSearchParams(kept).toString();
  const page = `https://${host}${withoutTrailingSlashes(url.pathname)}${query === '' ? '' : `?${query}`}`;
  // A text fragment (`#:~:text=`) only selects what to highlight.
  const fragment = url.hash.replace(/:~:.*$/, '');
  return fragment.length > 1 ? page + fragment : page;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
