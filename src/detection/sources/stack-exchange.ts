import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS } from '../../lib/clock.ts';
import { largestOf } from '../../lib/lists.ts';
import type { SourceQuota } from '../../model/source.ts';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { decodeEntities, htmlToText } from '../html-text.ts';
import { demandSuccess, holdsEnough, type Reader, type ReadingTask } from '../reader.ts';
import { SourceFault, type SourceItem } from '../source-item.ts';
import type { FetchedPage } from '../web.ts';

const MAX_PAGES = 5;
/** The API's error ID for "too many requests", with status 400. */
const THROTTLED = 502;

const questionSchema = z.object({
  question_id: z.int(),
  link: z.string(),
  title: z.string(),
  body: z.string().optional(),
  creation_date: z.int(),
  owner: z.object({ display_name: z.string().optional() }).optional(),
});
const answerSchema = z.object({
  items: listOf(questionSchema),
  has_more: z.boolean().default(false),
  /** Seconds until the next request of this kind; earlier requests get a program banned. */
  backoff: z.int().min(0).default(0),
  quota_remaining: z.int().optional(),
  quota_max: z.int().optional(),
});
const errorSchema = z.object({ error_id: z.int().optional(), error_message: z.string().optional() });

/** A page of questions of `site`, with the service's limits. */
export const stackExchangeQuestions = jsonParser(
  'stack_exchange_questions',
  answerSchema,
  ({ items, ...quota }, { site }: { site: string }) => ({
    ...quota,
    items: boundedItems(items.map((question) => toItem(question, site))),
  }),
);

/** Why the service rejected a request. */
export const stackExchangeError = jsonParser(
  'stack_exchange_error',
  errorSchema,
  ({ error_id, error_message = 'no reason given' }) => ({ error_id, message: error_message.slice(0, 200) }),
);

/** The scope of a pause for the method, which applies to all tenants. */
const METHOD = '/search/advanced';

/**
 * Reads questions of a Stack Exchange site, oldest first, so that the next run can continue where one
 * stopped.
 */
export const readStackExchange: Reader = async (task) => {
  const { source, position, now, oldest, web, parse, sites, secrets } = task;
  const { site, tagged, query } = source.settings;
  const since = position.newestAt ?? oldest;
  let items: SourceItem[] = [];
  const counted = secrets.key === undefined ? 'quota' : `quota ${hashOf(secrets.key)}`;
  let notBefore = 0;
  let more = false;
  let quota: SourceQuota | null = null;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const address = new URL(`${sites.stackexchange}/2.3${METHOD}`);
    address.search = new URLSearchParams({
      site: site ?? '',
      ...(tagged === null || tagged.length === 0 ? {} : { tagged: tagged.join(';') }),
      ...(query === null ? {} : { q: query }),
      ...(secrets.key === undefined ? {} : { key: secrets.key }),
      fromdate: String(Math.floor(since / 1_000)),
      order: 'asc',
      sort: 'creation',
      pagesize: '100',
      page: String(page),
      filter: 'withbody',
    }).toString();
    const options = { accept: 'application/json', scopes: [counted, METHOD] };
    const answer = await web.read(address.href, options);
    const questions = await demandQuestions(task, answer);
    const found = await parse(stackExchangeQuestions, questions, { site: site ?? '' });
    items = items.concat(found.items);
    const { quota_remaining: remaining, quota_max: limit, backoff } = found;
    if (remaining !== undefined) quota = { remaining, limit: limit ?? null, at: now };
    if (remaining === 0) {
      notBefore = nextDay(now); // the quota is per day, in UTC
      await web.hold(address.href, counted, notBefore);
    }
    if (backoff > 0) {
      const until = now + Math.min(backoff * 1_000, DAY_MS);
      await web.hold(address.href, METHOD, until);
      notBefore = Math.max(notBefore, until);
    }
    more = found.has_more;
    if (!more || notBefore > 0 || holdsEnough(items)) break;
  }
  const times = items.map(({ postedAt }) => postedAt ?? 0);
  const newestAt = Math.min(now, largestOf(times, since));
  return { items, position: { newestAt }, notBefore, more, quota };
};

/** Throttling applies to our address: every method waits, for all tenants. */
async function demandQuestions({ web, parse, now }: ReadingTask, answer: FetchedPage): Promise<FetchedPage> {
  if (answer.status !== 400) return demandSuccess(answer);
  const { error_id, message: reason } = await parse(stackExchangeError, answer, null);
  const message = `Stack Exchange refused the request: ${reason}.`;
  if (error_id !== THROTTLED) throw new SourceFault('http_status', message);
  const until = now + Number(/(\d{1,6}) seconds/.exec(reason)?.[1] ?? 600) * 1_000;
  await web.hold(answer.url, '', until);
  throw new SourceFault('rate_limited', message, until);
}

function nextDay(now: number): number {
  return (Math.floor(now / DAY_MS) + 1) * DAY_MS;
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 16);
}

function toItem(question: z.infer<typeof questionSchema>, site: string): SourceItem {
  return {
    id: String(question.question_id),
    platform: site.replace(/\.stackexchange(\.com)?$|\.com$/, ''),
    url: question.link,
    postedAt: question.creation_date * 1_000,
    title: decodeEntities(question.title),
    body: htmlToText(question.body ?? ''),
    author: decodeEntities(question.owner?.display_name ?? ''),
    signalType: 'qa_forum',
  };
}
