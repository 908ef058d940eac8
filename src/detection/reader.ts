import { fold } from '../lib/text.ts';
import type { SecretName, Source, SourceKind, SourcePosition, SourceQuota } from '../model/source.ts';
import type { Parser } from './documents/parser.ts';
import { SourceFault, type SourceItem, STOPPED } from './source-item.ts';
import type { FetchedPage, ReadOptions } from './web.ts';

/** Access to the web for one run, within its deadline. */
export interface Pages {
  /** Returns any status except those that ask for a pause. @throws SourceFault, PutOff */
  read(address: string, options: ReadOptions): Promise<FetchedPage>;
  /** Listens to a stream for `limitMs`, or until `take` ends it. @throws SourceFault, PutOff */
  listen(address: string, limitMs: number, take: (text: string, end: () => void) => void): Promise<void>;
  /** Blocks requests to the host of a URL for `scope` until a given time, for all sources and tenants. */
  hold(address: string, scope: string, until: number): Promise<void>;
}

/** A run of a source. */
export interface ReadingTask {
  source: Source;
  position: SourcePosition;
  /** Unix milliseconds. */
  now: number;
  /** Older items are not new, Unix milliseconds. */
  oldest: number;
  web: Pages;
  /** Parses a response in a separate thread. @throws SourceFault */
  parse<Args, Result>(parser: Parser<Args, Result>, page: FetchedPage, args: Args): Promise<Result>;
  sites: Sites;
  secrets: Partial<Record<SecretName, string>>;
  /** Whether no item with this ID was read before. */
  isNew(id: string): boolean;
  /** Whether the run's time is up. */
  isOver(): boolean;
}

/** The position for the next run; omitted members are reset. */
type NextPosition = Partial<Omit<SourcePosition, 'seen'>>;

/** The result of a run: items in the order of the source, and the next position. */
export interface Reading {
  items: SourceItem[];
  position: NextPosition;
  /** The source asked not to be read before this time, Unix milliseconds. */
  notBefore?: number;
  /** There is more than one run may read: the next run follows soon. */
  more?: boolean;
  /** Why part of it could not be read: the run counts as failed, and what it read is kept. */
  fault?: SourceFault | null;
  quota?: SourceQuota | null;
}

/**
 * Whether the failure of one part of a source says nothing about its other parts: the service does not ask for a pause, and the
 * run may go on.
 */
export function isOfPart(error: unknown, { isOver }: Pick<ReadingTask, 'isOver'>): error is SourceFault {
  return error instanceof SourceFault && error.code !== STOPPED && error.code !== 'rate_limited' && !isOver();
}

/** Reads one kind of source. @throws SourceFault */
export type Reader = (task: ReadingTask) => Promise<Reading>;

/**
 * Length of texts after which a run requests no further page, in UTF-16 units: ten full pages rarely have a quarter of
 * it. All runs in progress hold their items: 32 runs of ten pages of 5 MB each took 2 GB.
 */
const MAX_UNITS = 4 * 1024 * 1024;

/** Whether a run holds so much text that it requests no further page. */
export function holdsEnough(items: Iterable<SourceItem>): boolean {
  let units = 0;
  for (const { id, url, title, body } of items) units += id.length + url.length + title.length + body.length;
  return units >= MAX_UNITS;
}

/** The validators for a conditional request of the same page. */
export function validatorsOf({ headers }: FetchedPage): Pick<SourcePosition, 'etag' | 'lastModified'> {
  return { etag: sendable(headers.etag), lastModified: sendable(headers['last-modified']) };
}

/** Longer validators are dropped: servers refuse requests with long headers (431), and the source would stay broken. */
const MAX_VALIDATOR_CHARS = 1_024;

function sendable(validator: string | undefined): string | null {
  return validator === undefined || validator.length > MAX_VALIDATOR_CHARS ? null : validator;
}

/** Returns the page if its status is a success. @throws SourceFault */
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

/**
 * Creates a test for whether a text contains every word of a query, ignoring case; quoted words must be
 * adjacent. Null matches everything.
 */
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

/** Kinds with a URL in their settings, instead of a fixed service. */
type OwnAddress = 'rss' | 'discourse' | 'lemmy' | 'mastodon';

/** The base URLs of the services, without a trailing slash; `{board}` is replaced by the board's name. */
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

/**
 * The base URLs, with those that the operator overrides. Streams use `ws` for `http` and `wss` for `https`.
 */
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
