import { z } from 'zod';
import { decodeEntities, htmlToText } from '../html-text.ts';
import { FIRST_LOOK_MS, type Reader, readJson } from '../reader.ts';
import { SourceFault } from '../source-fault.ts';
import type { SourceItem } from '../source-item.ts';
import { demandSuccess, type Page } from '../web.ts';

const MAX_PAGES = 5;
/** How the API calls "too many requests"; it answers 400 with it. */
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
  items: z.array(questionSchema),
  has_more: z.boolean().default(false),
  /** Seconds that the next request of this kind must wait; to go on earlier gets a program banned. */
  backoff: z.int().min(0).default(0),
  quota_remaining: z.int().optional(),
});
const errorSchema = z.object({ error_id: z.int().optional(), error_message: z.string().optional() });

/** Questions of a Stack Exchange site, oldest first, so that what one run leaves the next one reads. */
export const readStackExchange: Reader = async ({ source, position, now, web, sites }) => {
  const { site, tagged, query } = source.settings;
  const since = position.newestAt ?? now - FIRST_LOOK_MS;
  const items: SourceItem[] = [];
  let notBefore = 0;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const address = new URL('/2.3/search/advanced', sites.stackexchange);
    address.search = new URLSearchParams({
      site: site ?? '',
      ...(tagged === null || tagged.length === 0 ? {} : { tagged: tagged.join(';') }),
      ...(query === null ? {} : { q: query }),
      fromdate: String(Math.floor(since / 1_000)),
      order: 'asc',
      sort: 'creation',
      pagesize: '100',
      page: String(page),
      filter: 'withbody',
    }).toString();
    const answer = await web.read(address.href, { accept: 'application/json' });
    const found = readJson(demandQuestions(answer, now), answerSchema);
    items.push(...found.items.map((question) => toItem(question, site ?? '')));
    if (found.quota_remaining === 0) notBefore = now + 3_600_000;
    if (found.backoff > 0) notBefore = Math.max(notBefore, now + found.backoff * 1_000);
    if (!found.has_more || notBefore > 0) break;
  }
  const times = items.map(({ postedAt }) => postedAt ?? 0);
  const newestAt = Math.min(now, Math.max(since, ...times));
  return { items, position: { etag: null, lastModified: null, newestAt }, notBefore };
};

function demandQuestions(answer: Page, now: number): Page {
  if (answer.status !== 400) return demandSuccess(answer);
  const { error_id, error_message = 'no reason given' } = readJson(answer, errorSchema);
  const message = `Stack Exchange refused the request: ${error_message.slice(0, 200)}.`;
  if (error_id !== THROTTLED) throw new SourceFault('http_status', message);
  const seconds = Number(/(\d{1,6}) seconds/.exec(error_message)?.[1] ?? 600);
  throw new SourceFault('rate_limited', message, now + seconds * 1_000);
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
