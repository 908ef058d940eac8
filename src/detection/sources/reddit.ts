import { z } from 'zod';
import type { SourceQuota } from '../../model/source.ts';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { readNewestFirst } from '../newest-first.ts';
import { demandSuccess, type Reader, type ReadingTask } from '../reader.ts';
import { SourceFault, type SourceItem } from '../source-item.ts';
import type { FetchedPage } from '../web.ts';

const PAGE = 100;
/** A listing ends after 1,000 posts. */
const MAX_PAGES = 10;

const tokenSchema = z.object({ access_token: z.string().max(8_192) });
const postSchema = z.object({
  name: z.string(),
  title: z.string(),
  selftext: z.string().nullish(),
  author: z.string().nullish(),
  created_utc: z.number(),
  permalink: z.string(),
});
const listingSchema = z.object({
  data: z.object({
    after: z.string().max(300).nullish(),
    children: listOf(z.object({ kind: z.string(), data: z.unknown() })),
  }),
});

/** The access token of an app. */
export const redditToken = jsonParser('reddit_token', tokenSchema, ({ access_token }) => access_token);

/** A page of a listing, and the cursor of the next one. */
export const redditPosts = jsonParser('reddit_posts', listingSchema, ({ data: { after, children } }) => ({
  items: boundedItems(children.flatMap(({ kind, data }) => (kind === 't3' ? toItem(data) : []))),
  after: after ?? '',
}));

/**
 * Reads the newest posts of a subreddit with Reddit's OAuth API, as the tenant's own app
 * (https://www.reddit.com/dev/api).
 */
export const readReddit: Reader = async (task) => {
  const { source, web, parse, sites, now } = task;
  const { subreddit, query } = source.settings;
  const path = `/r/${encodeURIComponent(subreddit ?? '')}/${query === null ? 'new' : 'search'}`;
  const headers = { authorization: `Bearer ${await logIn(task)}` };
  let quota: SourceQuota | null = null;
  const reading = await readNewestFirst(task, MAX_PAGES, async (at) => {
    const address = new URL(`${sites.reddit}${path}`);
    address.search = new URLSearchParams({
      ...(query === null ? {} : { q: query, restrict_sr: '1', sort: 'new' }),
      limit: String(PAGE),
      raw_json: '1',
      ...(at === null ? {} : { after: at }),
    }).toString();
    const answer = demandSuccess(
      await web.read(address.href, { accept: 'application/json', headers, scopes: [appOf(task)] }),
    );
    quota = quotaOf(answer, now) ?? quota;
    const { items, after } = await parse(redditPosts, answer, null);
    return { items, next: after || null };
  });
  return { ...reading, quota };
};

async function logIn(task: ReadingTask): Promise<string> {
  const { web, parse, sites, secrets, source } = task;
  const app = `${source.settings.client_id ?? ''}:${secrets.client_secret ?? ''}`;
  const answer = await web.read(`${sites.reddit_login}/api/v1/access_token`, {
    accept: 'application/json',
    headers: {
      authorization: `Basic ${Buffer.from(app).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
    scopes: [appOf(task)],
  });
  if (answer.status === 401 || answer.status === 400 || answer.status === 403) {
    throw new SourceFault(
      'unauthorized',
      `Reddit rejected the app's ID and secret (status ${answer.status}).`,
    );
  }
  return parse(redditToken, demandSuccess(answer), null);
}

/** Reddit's rate limits apply per app. */
function appOf({ source }: ReadingTask): string {
  return `app ${source.settings.client_id ?? ''}`;
}

function quotaOf({ headers }: FetchedPage, now: number) {
  const remaining = Number.parseFloat(headers['x-ratelimit-remaining'] ?? '');
  const used = Number.parseFloat(headers['x-ratelimit-used'] ?? '');
  if (!Number.isSafeInteger(Math.floor(remaining))) return null;
  return {
    remaining: Math.floor(remaining),
    limit: Number.isSafeInteger(Math.floor(remaining + used)) ? Math.floor(remaining + used) : null,
    at: now,
  };
}

function toItem(data: unknown): SourceItem[] {
  const post = postSchema.safeParse(data).data;
  if (post === undefined) return [];
  return [
    {
      id: post.name,
      platform: 'reddit',
      url: `https://www.reddit.com${post.permalink}`,
      postedAt: Math.floor(post.created_utc * 1_000),
      title: post.title,
      body: post.selftext ?? '',
      author: post.author ?? '',
    },
  ];
}
