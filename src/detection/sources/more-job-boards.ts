import { z } from 'zod';
import { htmlToText } from '../html-text.ts';
import { type Reader, type ReadingTask, readJson } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';
import { demandSuccess } from '../web.ts';
import { boardChanges } from './board-changes.ts';
import { boardOf, companyOf, readBoard } from './job-boards.ts';

const recruiteeSchema = z.object({
  offers: z.array(
    z.object({
      id: z.union([z.int(), z.string()]).transform(String),
      title: z.string(),
      careers_url: z.string().nullish(),
      description: z.string().nullish(),
      requirements: z.string().nullish(),
      department: z.string().nullish(),
      location: z.string().nullish(),
      company_name: z.string().nullish(),
      published_at: z.string().nullish(),
      created_at: z.string().nullish(),
    }),
  ),
});

/** Open jobs of a board on Recruitee (https://docs.recruitee.com/reference/offers). */
export const readRecruitee: Reader = (task) =>
  readBoard(task, `${task.sites.recruitee.replace('{board}', boardOf(task))}/api/offers/`, (board) =>
    recruiteeSchema.transform(({ offers }) =>
      offers.map((job) => ({
        id: job.id,
        platform: 'recruitee',
        url: job.careers_url ?? '',
        postedAt: readTime(job.published_at ?? job.created_at),
        title: job.title,
        body: [job.description, job.requirements]
          .map((part) => htmlToText(part ?? ''))
          .filter((part) => part !== '')
          .join('\n\n'),
        author: '',
        company: companyOf(job.company_name || board, job.location),
        department: job.department ?? '',
      })),
    ),
  );

const workableSchema = z.object({
  name: z.string().nullish(),
  jobs: z.array(
    z.object({
      shortcode: z.string(),
      title: z.string(),
      department: z.string().nullish(),
      url: z.string().nullish(),
      published_on: z.string().nullish(),
      created_at: z.string().nullish(),
      city: z.string().nullish(),
      country: z.string().nullish(),
      description: z.string().nullish(),
    }),
  ),
});

/** Open jobs of a board on Workable, by the interface of its widget. */
export const readWorkable: Reader = (task) =>
  readBoard(task, `${task.sites.workable}/api/v1/widget/accounts/${boardOf(task)}?details=true`, (board) =>
    workableSchema.transform(({ name, jobs }) =>
      jobs.map((job) => ({
        id: job.shortcode,
        platform: 'workable',
        url: job.url ?? '',
        postedAt: readTime(job.published_on ?? job.created_at),
        title: job.title,
        body: htmlToText(job.description ?? ''),
        author: '',
        company: companyOf(name || board, [job.city, job.country].filter(Boolean).join(', ')),
        department: job.department ?? '',
      })),
    ),
  );

/** Its list tells no texts: those of new jobs are asked for one by one, so many a run. */
const MAX_DETAILS = 40;
const MAX_PAGES = 20;

const postingSchema = z.object({
  id: z.string(),
  name: z.string(),
  releasedDate: z.string().nullish(),
  company: z.object({ name: z.string().nullish(), identifier: z.string().nullish() }).nullish(),
  location: z
    .object({ fullLocation: z.string().nullish(), city: z.string().nullish(), country: z.string().nullish() })
    .nullish(),
  department: z.object({ label: z.string().nullish() }).nullish(),
});
type Posting = z.infer<typeof postingSchema>;
const listSchema = z.object({ totalFound: z.int().min(0).default(0), content: z.array(postingSchema) });
const detailSchema = z.object({
  postingUrl: z.string().nullish(),
  applyUrl: z.string().nullish(),
  jobAd: z
    .object({ sections: z.record(z.string(), z.object({ text: z.string().nullish() }).nullish()).nullish() })
    .nullish(),
});

/** Open jobs of a board on SmartRecruiters (https://developers.smartrecruiters.com, Posting API). */
export const readSmartRecruiters: Reader = async (task) => {
  const base = `${task.sites.smartrecruiters}/v1/companies/${boardOf(task)}/postings`;
  const postings: Posting[] = [];
  let isWhole = false;
  for (let page = 0; page < MAX_PAGES; page++) {
    const address = `${base}?limit=100&offset=${page * 100}`;
    const answer = demandSuccess(await task.web.read(address, { accept: 'application/json' }));
    const { content, totalFound } = readJson(answer, listSchema);
    postings.push(...content);
    isWhole = postings.length >= totalFound;
    if (content.length === 0 || isWhole) break;
  }
  const isOld = ({ releasedDate }: Posting) => (readTime(releasedDate) ?? task.now) < task.oldest;
  const wanted = postings.filter((posting) => task.isNew(posting.id) && !isOld(posting));
  const now = new Set(wanted.slice(0, MAX_DETAILS).map(({ id }) => id));
  const items: SourceItem[] = [];
  for (const posting of postings) {
    if (now.has(posting.id)) items.push(await detailed(task, base, posting));
    else if (!task.isNew(posting.id)) items.push(toItem(task, posting)); // remembered as long as it is shown
  }
  const { cursor } = task.position;
  const more = wanted.length > now.size;
  // Of a part nobody knows what closed.
  if (!isWhole) return { items, position: { cursor }, more };
  const listed = postings.map((posting) => toItem(task, posting));
  const at = { now: task.now, platform: 'smartrecruiters', company: task.source.settings.board ?? '' };
  const changes = boardChanges(cursor, listed, at);
  return { items: [...items, ...changes.items], position: { cursor: changes.cursor }, more };
};

async function detailed(task: ReadingTask, base: string, posting: Posting): Promise<SourceItem> {
  const address = `${base}/${encodeURIComponent(posting.id)}`;
  const answer = await task.web.read(address, { accept: 'application/json' });
  const item = toItem(task, posting);
  if (answer.status === 404 || answer.status === 410) return item; // closed a moment ago
  const { jobAd, postingUrl, applyUrl } = readJson(demandSuccess(answer), detailSchema);
  const texts = Object.values(jobAd?.sections ?? {}).map((section) => htmlToText(section?.text ?? ''));
  const body = texts.filter((text) => text !== '').join('\n\n');
  return { ...item, body, url: postingUrl ?? applyUrl ?? item.url };
}

function toItem({ source }: ReadingTask, posting: Posting): SourceItem {
  const board = source.settings.board ?? '';
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
