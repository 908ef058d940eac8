import type { SourceKind } from '../model/source-settings.ts';

/** Kinds that ask the address they are given, rather than one service. */
type OwnAddress = 'rss' | 'discourse' | 'lemmy' | 'mastodon';

/** Where the services behind the kinds are, without a trailing slash; `{board}` is the board's name. */
export type Sites = Record<Exclude<SourceKind, OwnAddress> | 'reddit_login', string>;

export const SITES: Sites = {
  hackernews: 'https://hn.algolia.com',
  hackernews_hiring: 'https://hn.algolia.com',
  stackexchange: 'https://api.stackexchange.com',
  greenhouse: 'https://boards-api.greenhouse.io',
  lever: 'https://api.lever.co',
  ashby: 'https://api.ashbyhq.com',
  smartrecruiters: 'https://api.smartrecruiters.com',
  recruitee: 'https://{board}.recruitee.com',
  workable: 'https://apply.workable.com',
  sec_form_d: 'https://www.sec.gov',
  lobsters: 'https://lobste.rs',
  github: 'https://api.github.com',
  bluesky: 'wss://jetstream2.us-east.bsky.network',
  reddit: 'https://oauth.reddit.com',
  reddit_login: 'https://www.reddit.com',
};

/** The sites, with those that the operator points elsewhere; a stream takes `ws` for `http` and `wss` for `https`. */
export function sitesWith(given: Partial<Record<string, string>>): Sites {
  const sites = { ...SITES };
  for (const [kind, base] of Object.entries(given)) {
    if (base !== undefined && kind in sites) sites[kind as keyof Sites] = base.replace(/\/+$/, '');
  }
  if (given.hackernews && !given.hackernews_hiring) sites.hackernews_hiring = sites.hackernews;
  if (given.reddit) sites.reddit_login = sites.reddit;
  sites.bluesky = sites.bluesky.replace(/^http/, 'ws');
  return sites;
}
