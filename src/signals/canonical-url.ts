import { withoutTrailingSlashes } from '../lib/text.ts';

const TRACKING =
  /^(utm_|fbclid$|gclid$|msclkid$|mc_[ce]id$|igshid$|ref$|ref_src$|ref_source$|share_id$|si$|trk$|rcm$|context$)/;

/**
 * The one spelling under which a post is known again: https, host without `www.`, no tracking parameters, the rest
 * sorted, no trailing slash. A fragment stays, as a page may hold many posts. Null where there is no URL.
 */
export function canonicalUrl(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const host = url.host.replace(/^(www|old|new|m|mobile)\./, '');
  const kept = [...url.searchParams].filter(([name]) => !TRACKING.test(name.toLowerCase()));
  kept.sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)));
  const query = new URLSearchParams(kept).toString();
  const page = `https://${host}${withoutTrailingSlashes(url.pathname)}${query === '' ? '' : `?${query}`}`;
  // A text fragment (`#:~:text=`) only says what to highlight.
  const fragment = url.hash.replace(/:~:.*$/, '');
  return fragment.length > 1 ? page + fragment : page;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
