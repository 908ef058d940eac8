import { createHash } from 'node:crypto';
import { z } from 'zod';
import { toIso } from '../../lib/clock.ts';
import { largestOf } from '../../lib/lists.ts';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { demandSuccess, holdsEnough, isOfPart, type Reader, type ReadingTask } from '../reader.ts';
import { readTime, SourceFault, type SourceItem } from '../source-item.ts';
import type { FetchedPage } from '../web.ts';

/** The search returns at most 1,000 results; the next run continues with newer ones. */
const MAX_PAGES = 10;
const PAGE = 100;

const issueSchema = z.object({
  node_id: z.string().nullish(),
  html_url: z.string(),
  title: z.string(),
  body: z.string().nullish(),
  created_at: z.string().nullish(),
  user: z.object({ login: z.string().nullish() }).nullish(),
});
const issuesSchema = z.object({ items: listOf(issueSchema) });
const discussionsSchema = z.object({
  data: z
    .object({
      search: z.object({
        nodes: listOf(
          z.object({
            url: z.string().optional(),
            title: z.string().optional(),
            bodyText: z.string().nullish(),
            createdAt: z.string().nullish(),
            author: z.object({ login: z.string().nullish() }).nullish(),
          }),
        ),
      }),
    })
    .nullish(),
});

const DISCUSSIONS = `query ($q: String!) { search(type: DISCUSSION, query: $q, first: ${PAGE}) {
  nodes { ... on Discussion { url title bodyText createdAt author { login } } } } }`;

/** A page of issues. */
export const gitHubIssues = jsonParser('github_issues', issuesSchema, ({ items }) =>
  boundedItems(items.map(toItem)),
);

/** A page of discussions. */
export const gitHubDiscussions = jsonParser('github_discussions', discussionsSchema, ({ data }) =>
  boundedItems(
    (data?.search.nodes ?? []).flatMap(({ url, title = '', bodyText, createdAt, author }) =>
      url === undefined
        ? []
        : [
            {
              id: url,
              platform: 'github',
              url,
              postedAt: readTime(createdAt),
              title,
              body: bodyText ?? '',
              author: author?.login ?? '',
            },
          ],
    ),
  ),
);

/**
 * Reads issues that match a search, oldest first, and with a token discussions, too
 * (https://docs.github.com/rest/search).
 */
export const readGitHub: Reader = async (task) => {
  const { position, now, oldest, secrets } = task;
  const since = position.newestAt ?? oldest;
  let items: SourceItem[] = [];
  let quota = null;
  let more = false;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await ask(task, since, page);
    quota = quotaOf(answer, now) ?? quota;
    const found = await task.parse(gitHubIssues, answer, null);
    items = items.concat(found);
    more = found.length === PAGE;
    if (!more || holdsEnough(items)) break;
  }
  let newestAt = Math.min(
    now,
    largestOf(
      items.map(({ postedAt }) => postedAt ?? 0),
      since,
    ),
  );
  // Otherwise a full page with the same second would be requested forever.
  more &&= newestAt > since;
  let found: SourceItem[] = [];
  try {
    if (secrets.token !== undefined) found = await discussions(task, since);
  } catch (error) {
    if (!isOfPart(error, task)) throw error;
    // The next run requests the same time again, so that no discussion is missed.
    return { items, position: { newestAt: position.newestAt }, fault: error, quota };
  }
  const reached = found.length < PAGE ? newestAt : (found.at(-1)?.postedAt ?? newestAt);
  if (reached > since && reached < newestAt) {
    newestAt = reached; // the next run continues with the discussions behind this page
    more = true;
  }
  return { items: items.concat(found), position: { newestAt }, more, quota };
};

async function ask(task: ReadingTask, since: number, page: number): Promise<FetchedPage> {
  const { source, web, sites } = task;
  const query = source.settings.query ?? '';
  const kind = /\b(is|type):/.test(query) ? '' : ' is:issue';
  const address = new URL(`${sites.github}/search/issues`);
  address.search = new URLSearchParams({
    q: `${query}${kind} created:>=${secondOf(since)}`,
    sort: 'created',
    order: 'asc',
    per_page: String(PAGE),
    page: String(page),
  }).toString();
  const answer = await web.read(address.href, {
    accept: 'application/vnd.github+json',
    scopes: [`search ${counted(task)}`],
    headers: headersOf(task),
  });
  if (answer.status === 422) {
    throw new SourceFault('http_status', 'GitHub rejected the query (status 422).');
  }
  return demandSuccess(answer);
}

async function discussions(task: ReadingTask, since: number): Promise<SourceItem[]> {
  const q = `${task.source.settings.query ?? ''} created:>=${secondOf(since)} sort:created-asc`;
  const answer = await task.web.read(`${task.sites.github}/graphql`, {
    accept: 'application/json',
    scopes: [`graphql ${counted(task)}`],
    headers: { ...headersOf(task), 'content-type': 'application/json' },
    body: JSON.stringify({ query: DISCUSSIONS, variables: { q } }),
  });
  return task.parse(gitHubDiscussions, demandSuccess(answer), null);
}

function headersOf({ secrets }: ReadingTask): Record<string, string> {
  const version = { 'x-github-api-version': '2022-11-28' };
  return secrets.token === undefined ? version : { ...version, authorization: `Bearer ${secrets.token}` };
}

/** GitHub's rate limits apply per token, and without one per address. */
function counted({ secrets }: ReadingTask): string {
  if (secrets.token === undefined) return '';
  return createHash('sha256').update(secrets.token).digest('base64url').slice(0, 16);
}

function quotaOf({ headers }: FetchedPage, now: number) {
  const remaining = Number(headers['x-ratelimit-remaining'] ?? Number.NaN);
  const limit = Number(headers['x-ratelimit-limit'] ?? Number.NaN);
  if (!Number.isSafeInteger(remaining)) return null;
  return { remaining, limit: Number.isSafeInteger(limit) ? limit : null, at: now };
}

function secondOf(ms: number): string {
  return toIso(ms).replace(/\.\d+Z$/, 'Z');
}

function toItem(issue: z.infer<typeof issueSchema>): SourceItem {
  return {
    id: issue.html_url,
    platform: 'github',
    url: issue.html_url,
    postedAt: readTime(issue.created_at),
    title: issue.title,
    body: issue.body ?? '',
    author: issue.user?.login ?? '',
  };
}
