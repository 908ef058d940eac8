import { z } from 'zod';
import { boundedItem, boundedItems } from '../documents/bounds.ts';
import { jsonParser, listOf } from '../documents/json.ts';
import { htmlToText } from '../html-text.ts';
import { demandSuccess, type Reader, type ReadingTask } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';
import { boardChanges, boardOf, companyOf } from './board.ts';

/** Its list has no texts: those of new jobs are fetched one by one, up to this many per run. */
const MAX_DETAILS = 40;
const MAX_PAGES = 20;
const PAGE = 100;

const postingSchema = z.object({
  // It becomes a part of addresses.
  id: z.string().max(300),
  name: z.string(),
  releasedDate: z.string().nullish(),
  company: z.object({ name: z.string().nullish(), identifier: z.string().nullish() }).nullish(),
  location: z
    .object({ fullLocation: z.string().nullish(), city: z.string().nullish(), country: z.string().nullish() })
    .nullish(),
  department: z.object({ label: z.string().nullish() }).nullish(),
});
type Posting = z.infer<typeof postingSchema>;
const listSchema = z.object({ totalFound: z.int().min(0).default(0), content: listOf(postingSchema) });
const detailSchema = z.object({
  postingUrl: z.string().nullish(),
  applyUrl: z.string().nullish(),
  jobAd: z
    .object({ sections: z.record(z.string(), z.object({ text: z.string().nullish() }).nullish()).nullish() })
    .nullish(),
});

/** A page of jobs, how many there are, and how many of them came. */
export const smartRecruitersJobs = jsonParser(
  'smartrecruiters_jobs',
  listSchema,
  ({ totalFound, content }, { board }: { board: string }) => ({
    items: boundedItems(content.map((posting) => toItem(posting, board))),
    totalFound,
    count: content.length,
  }),
);

/** A job with its text. */
export const smartRecruitersDetail = jsonParser(
  'smartrecruiters_detail',
  detailSchema,
  ({ jobAd, postingUrl, applyUrl }, { job }: { job: SourceItem }) => {
    const texts = Object.values(jobAd?.sections ?? {}).map((section) => htmlToText(section?.text ?? ''));
    const body = texts.filter((text) => text !== '').join('\n\n');
    return boundedItem({ ...job, body, url: postingUrl ?? applyUrl ?? job.url });
  },
);

/** Open jobs of a board on SmartRecruiters (https://developers.smartrecruiters.com, Posting API). */
export const readSmartRecruiters: Reader = async (task) => {
  const base = `${task.sites.smartrecruiters}/v1/companies/${boardOf(task)}/postings`;
  const company = task.source.settings.board ?? '';
  let jobs: SourceItem[] = [];
  let shown = 0;
  let isWhole = false;
  for (let page = 0; page < MAX_PAGES; page++) {
    // After what came, which may be less than was asked for.
    const address = `${base}?limit=${PAGE}&offset=${shown}`;
    const answer = demandSuccess(await task.web.read(address, { accept: 'application/json' }));
    const { items, totalFound, count } = await task.parse(smartRecruitersJobs, answer, { board: company });
    jobs = jobs.concat(items);
    shown += count;
    isWhole = shown >= totalFound;
    if (count === 0 || isWhole) break;
  }
  const isOld = ({ postedAt }: SourceItem) => (postedAt ?? task.now) < task.oldest;
  const wanted = jobs.filter((job) => task.isNew(job.id) && !isOld(job));
  const now = new Set(wanted.slice(0, MAX_DETAILS).map(({ id }) => id));
  const items: SourceItem[] = [];
  for (const job of jobs) {
    if (now.has(job.id)) items.push(await detailed(task, base, job));
    else if (!task.isNew(job.id)) items.push(job); // remembered as long as it is shown
  }
  const { cursor } = task.position;
  const more = wanted.length > now.size;
  // A partial list does not show which jobs closed.
  if (!isWhole) return { items, position: { cursor }, more };
  const changes = boardChanges(cursor, jobs, { now: task.now, platform: 'smartrecruiters', company });
  return { items: [...items, ...changes.items], position: { cursor: changes.cursor }, more };
};

async function detailed(task: ReadingTask, base: string, job: SourceItem): Promise<SourceItem> {
  const address = `${base}/${encodeURIComponent(job.id)}`;
  const answer = await task.web.read(address, { accept: 'application/json' });
  if (answer.status === 404 || answer.status === 410) return job; // closed a moment ago
  return task.parse(smartRecruitersDetail, demandSuccess(answer), { job });
}

function toItem(posting: Posting, board: string): SourceItem {
  const { fullLocation, city, country } = posting.location ?? {};
  const site = `https://jobs.smartrecruiters.com/${encodeURIComponent(board)}`;
  return {
    id: posting.id,
    platform: 'smartrecruiters',
    url: `${site}/${encodeURIComponent(posting.id)}`,
    postedAt: readTime(posting.releasedDate),
    title: posting.name,
    body: '',
    author: '',
    company: companyOf(
      posting.company?.name || board,
      fullLocation || [city, country].filter(Boolean).join(', '),
    ),
    department: posting.department?.label ?? '',
  };
}
