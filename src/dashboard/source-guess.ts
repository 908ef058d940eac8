import type { SourceKind } from '../model/source-settings.ts';
import type { Form } from './forms.ts';

/** Addresses of pages, and what source reads what stands there; the first group is the setting. */
const PLACES: [pattern: RegExp, kind: SourceKind, setting: string][] = [
  [/^(?:job-boards|boards)\.greenhouse\.io\/([\w.-]+)/, 'greenhouse', 'board'],
  [/^jobs\.lever\.co\/([\w.-]+)/, 'lever', 'board'],
  [/^jobs\.ashbyhq\.com\/([\w.-]+)/, 'ashby', 'board'],
  [/^(?:careers|jobs)\.smartrecruiters\.com\/([\w.-]+)/, 'smartrecruiters', 'board'],
  [/^([\w-]+)\.recruitee\.com/, 'recruitee', 'board'],
  [/^apply\.workable\.com\/([\w.-]+)/, 'workable', 'board'],
  [/^(?:\w+\.)?reddit\.com\/r\/(\w+)/, 'reddit', 'subreddit'],
  [/^lobste\.rs\/t\/([\w.+-]+)/, 'lobsters', 'tag'],
  [/^([a-z]+)\.stackexchange\.com/, 'stackexchange', 'site'],
  [/^(stackoverflow|serverfault|superuser|askubuntu)\.com/, 'stackexchange', 'site'],
  [/^github\.com\/search\?.*\bq=([^&]+)/, 'github', 'query'],
  [/^(?:hn\.algolia\.com|news\.ycombinator\.com)\/?\?.*\b(?:q|query)=([^&]+)/, 'hackernews', 'query'],
  [/^(?:hn\.algolia|news\.ycombinator)\.com()/, 'hackernews', 'query'],
];

/**
 * What a new source's form says by an address or a subject: the kind that reads that place, any other address as a feed, and
 * words as a search of Hacker News. To be looked at before it is made.
 */
export function guessSource(typed: string): Form {
  const given = typed.trim();
  const url = addressOf(given);
  if (url === null) return { kind: 'hackernews', name: `Hacker News: ${given}`.slice(0, 200), query: given };
  const place = url.host.replace(/^www\./, '') + url.pathname + url.search;
  for (const [pattern, kind, setting] of PLACES) {
    const found = pattern.exec(place)?.[1];
    if (found === undefined) continue;
    const value = decode(found);
    const tag = /\/tagged\/([^/?]+)/.exec(place)?.[1];
    return {
      kind,
      name: `${kind} ${value || url.host}`.replaceAll('_', ' '),
      [setting]: value,
      ...(tag === undefined ? {} : { tagged: decode(tag).replaceAll('+', ' ') }),
    };
  }
  const tag = /^\/tags\/([^/]+)\/?$/.exec(url.pathname)?.[1];
  if (tag !== undefined)
    return { kind: 'mastodon', name: `#${decode(tag)} on ${url.host}`, url: url.origin, tag: decode(tag) };
  return { kind: 'rss', name: url.host, url: url.href };
}

/** An address, with or without its scheme; null where it is words. */
function addressOf(given: string): URL | null {
  if (/\s/.test(given)) return null;
  if (/^https?:\/\//i.test(given)) return URL.parse(given);
  return /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[/?].*)?$/i.test(given) ? URL.parse(`https://${given}`) : null;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
