import { fold } from '../lib/text.ts';
import type { SecretName, Source, SourceKind, SourcePosition, SourceQuota } from '../model/source.ts';
import type { Parser } from './documents/parser.ts';
import { SourceFault, type SourceItem } from './source-item.ts';
import type { FetchedPage, ReadOptions } from './web.ts';

/** The web as far as a run may use it: all it reads counts against its one deadline. */
export interface Pages {
  /** Any status but those that ask for a pause. @throws SourceFault, PutOff */
  read(address: string, options: ReadOptions): Promise<FetchedPage>;
  /** Listens to a stream for so long, or until `take` ends it. @throws SourceFault, PutOff */
  listen(address: string, limitMs: number, take: (text: string, end: () => void) => void): Promise<void>;
  /** Requests to the address's host for `scope` wait until then, for all sources and tenants. */
  hold(address: string, scope: string, until: number): Promise<void>;
}

/** A source as it is being read. */
export interface ReadingTask {
  source: Source;
  position: SourcePosition;
  /** Unix milliseconds. */
  now: number;
  /** What is older is not new, Unix milliseconds. */
  oldest: number;
  web: Pages;
  /** What a parser makes of an answer, in a thread of its own. @throws SourceFault */
  parse<Args, Result>(parser: Parser<Args, Result>, page: FetchedPage, args: Args): Promise<Result>;
  sites: Sites;
  secrets: Partial<Record<SecretName, string>>;
  /** Whether an item of this id was not read before. */
  isNew(id: string): boolean;
}

/** From where to go on; what is left out begins anew. */
type NextPosition = Partial<Omit<SourcePosition, 'seen'>>;

/** What was read: items in the source's own order, and from where to go on. */
export interface Reading {
  items: SourceItem[];
  position: NextPosition;
  /** The source asked not to be read before then, Unix milliseconds. */
  notBefore?: number;
  /** There is more to read than one run may: the next one comes soon. */
  more?: boolean;
  quota?: SourceQuota | null;
}

/** Reads one kind of source. @throws SourceFault */
export type Reader = (task: ReadingTask) => Promise<Reading>;

/** The validators that an answer can be asked for again with. */
export function validatorsOf({ headers }: FetchedPage): Pick<SourcePosition, 'etag' | 'lastModified'> {
  return { etag: headers.etag ?? null, lastModified: headers['last-modified'] ?? null };
}

/** The answer where it is a success. @throws SourceFault */
export function demandSuccess(page: FetchedPage): FetchedPage {
  const { status } = page;
  if (status >= 200 && status < 300) return page;
  if (status === 401 || status === 403) {
    throw new SourceFault('unauthorized', `The host denied access (status ${status}).`);
  }
  const why =
    status === 404 || status === 410
      ? 'There is nothing at this address'
      : 'The host responded with an error';
  throw new SourceFault('http_status', `${why} (status ${status}).`);
}

/** Whether a text holds every word of a query, in whatever case; words in quotes stand together. Null: everything does. */
export function createWordTest(query: string | null): (text: string) => boolean {
  const words = [...(query ?? '').matchAll(/"([^"]+)"|(\S+)/g)].map(([, phrase, word]) =>
    fold(phrase ?? word ?? '').trim(),
  );
  const wanted = words.filter((word) => word !== '');
  return (text) => {
    if (wanted.length === 0) return true;
    const folded = fold(text);
    return wanted.every((word) => folded.includes(word));
  };
}

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
