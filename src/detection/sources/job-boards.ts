import { z } from 'zod';
import { readDetails } from '../details.ts';
import {
  boundedId,
  boundedItem,
  boundedItems,
  jsonParser,
  listOf,
  type Parser,
} from '../documents/parser.ts';
import { decodeEntities, htmlToText } from '../html-text.ts';
import { demandSuccess, holdsEnough, type Reader, type ReadingTask, validatorsOf } from '../reader.ts';
import { readTime, type SourceItem, urlPart } from '../source-item.ts';
import type { FetchedPage } from '../web.ts';
import { type BoardChanges, boardChanges, MOST_KNOWN } from './board-changes.ts';

const MOST_JOBS = MOST_KNOWN;

/** The company of a board, and the board's state after the last run. */
export interface BoardArgs {
  company: string;
  cursor: string | null;
  now: number;
  platform: string;
}

/** Parses all jobs of a board, with the changes since the last run. */
type BoardParser = Parser<BoardArgs, BoardChanges>;

/** Creates a parser for boards with a response of the form `schema`. */
function boardParser<S extends z.ZodType>(
  name: string,
  schema: S,
  toItems: (answer: z.output<S>, args: BoardArgs) => SourceItem[],
): BoardParser {
  return jsonParser(name, schema, (answer, args) => changedBoard(toItems(answer, args), args));
}

/** The jobs of a board, together with those that changed or closed. */
function changedBoard(jobs: readonly SourceItem[], { cursor, ...at }: BoardArgs): BoardChanges {
  const posts = jobs.map((job) => ({ ...job, id: boundedId(job.id) }));
  const changes = boardChanges(cursor, posts, at);
  return { ...changes, items: boundedItems([...posts, ...changes.items], 2 * MOST_JOBS) };
}

/** Reads a board with a single, conditional request, and adds jobs that changed or closed. */
async function readBoard(
  { source, position, web, parse, now }: ReadingTask,
  address: string,
  parser: BoardParser,
) {
  const { etag, lastModified, cursor } = position;
  const page = await web.read(address, { accept: 'application/json', etag, lastModified });
  if (page.status === 304) return { items: [], position };
  const company = source.settings.board ?? '';
  const args = { company, cursor, now, platform: source.kind };
  const board = await parse(parser, demandSuccess(page), args);
  const validators = board.isUnsure ? {} : validatorsOf(page);
  return { items: board.items, position: { ...validators, cursor: board.cursor } };
}

/** The board's name, encoded for URLs. */
function boardOf({ source }: ReadingTask): string {
  return encodeURIComponent(source.settings.board ?? '');
}

/** A company, with its location if it is known. */
function companyOf(name: string, location: string | null | undefined): { name: string; location?: string } {
  return location ? { name, location: location.slice(0, 300) } : { name };
}

const greenhouseSchema = z.object({
  jobs: listOf(
    z.object({
      id: z.union([z.int(), z.string()]).transform(String),
      absolute_url: z.string(),
      title: z.string(),
      content: z.string().nullish(),
      company_name: z.string().nullish(),
      first_published: z.string().nullish(),
      updated_at: z.string().nullish(),
      location: z.object({ name: z.string().nullish() }).nullish(),
      departments: listOf(z.object({ name: z.string().nullish() })).nullish(),
    }),
    MOST_JOBS,
  ),
});

/** Reads the open jobs of a board on Greenhouse. */
export const readGreenhouse: Reader = (task) =>
  readBoard(task, `${task.sites.greenhouse}/v1/boards/${boardOf(task)}/jobs?content=true`, greenhouseBoard);

export const greenhouseBoard = boardParser('greenhouse', greenhouseSchema, ({ jobs }, { company }) =>
  jobs.map((job) => ({
    id: job.id,
    platform: 'greenhouse',
    url: job.absolute_url,
    postedAt: readTime(job.first_published ?? job.updated_at ?? undefined),
    title: job.title,
    body: htmlToText(decodeEntities(job.content ?? '')), // HTML, escaped twice
    author: '',
    company: companyOf(job.company_name ?? company, job.location?.name),
    department: job.departments?.[0]?.name ?? '',
  })),
);

const leverSchema = listOf(
  z.object({
    id: z.string(),
    text: z.string(),
    hostedUrl: z.string(),
    createdAt: z.number().nullish(),
    descriptionPlain: z.string().nullish(),
    description: z.string().nullish(),
    categories: z
      .object({
        location: z.string().nullish(),
        department: z.string().nullish(),
        team: z.string().nullish(),
      })
      .nullish(),
    lists: listOf(z.object({ text: z.string().nullish(), content: z.string().nullish() })).nullish(),
    additionalPlain: z.string().nullish(),
    additional: z.string().nullish(),
  }),
  MOST_JOBS,
);

/** Reads the open jobs of a board on Lever. */
export const readLever: Reader = (task) =>
  readBoard(task, `${task.sites.lever}/v0/postings/${boardOf(task)}?mode=json`, leverBoard);

export const leverBoard = boardParser('lever', leverSchema, (jobs, { company }) =>
  jobs.map((job) => ({
    id: job.id,
    platform: 'lever',
    url: job.hostedUrl,
    postedAt: job.createdAt ?? null,
    title: job.text,
    body: leverText(job),
    author: '',
    company: companyOf(company, job.categories?.location),
    department: job.categories?.department ?? job.categories?.team ?? '',
  })),
);

/** The text of a job. Requirements and benefits are separate from the description. */
function leverText(job: z.infer<typeof leverSchema>[number]): string {
  const lists = (job.lists ?? []).map(({ text, content }) =>
    [text ?? '', htmlToText(content ?? '')].filter((part) => part !== '').join('\n'),
  );
  const parts = [
    job.descriptionPlain?.trim() || htmlToText(job.description ?? ''),
    ...lists,
    job.additionalPlain?.trim() || htmlToText(job.additional ?? ''),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

const ashbySchema = z.object({
  jobs: listOf(
    z.object({
      title: z.string(),
      jobUrl: z.string(),
      isListed: z.boolean().nullish(),
      location: z.string().nullish(),
      department: z.string().nullish(),
      publishedAt: z.string().nullish(),
      descriptionPlain: z.string().nullish(),
      descriptionHtml: z.string().nullish(),
    }),
    MOST_JOBS,
  ),
});

/** Reads the open jobs of a board on Ashby; unlisted ones are skipped. */
export const readAshby: Reader = (task) =>
  readBoard(task, `${task.sites.ashby}/posting-api/job-board/${boardOf(task)}`, ashbyBoard);

export const ashbyBoard = boardParser('ashby', ashbySchema, ({ jobs }, { company }) =>
  jobs
    .filter((job) => job.isListed !== false)
    .map((job) => ({
      id: job.jobUrl,
      platform: 'ashby',
      url: job.jobUrl,
      postedAt: readTime(job.publishedAt ?? undefined),
      title: job.title,
      body: job.descriptionPlain?.trim() || htmlToText(job.descriptionHtml ?? ''),
      author: '',
      company: companyOf(company, job.location),
      department: job.department ?? '',
    })),
);

const recruiteeSchema = z.object({
  offers: listOf(
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
    MOST_JOBS,
  ),
});

/** Reads the open jobs of a board on Recruitee (https://docs.recruitee.com/reference/offers). */
export const readRecruitee: Reader = (task) =>
  readBoard(task, `${task.sites.recruitee.replace('{board}', boardOf(task))}/api/offers/`, recruiteeBoard);

export const recruiteeBoard = boardParser('recruitee', recruiteeSchema, ({ offers }, { company }) =>
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
    company: companyOf(job.company_name || company, job.location),
    department: job.department ?? '',
  })),
);

const workableSchema = z.object({
  name: z.string().nullish(),
  jobs: listOf(
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
    MOST_JOBS,
  ),
});

/** Reads the open jobs of a board on Workable, from the API of its widget. */
export const readWorkable: Reader = (task) =>
  readBoard(
    task,
    `${task.sites.workable}/api/v1/widget/accounts/${boardOf(task)}?details=true`,
    workableBoard,
  );

export const workableBoard = boardParser('workable', workableSchema, ({ name, jobs }, { company }) =>
  jobs.map((job) => ({
    id: job.shortcode,
    platform: 'workable',
    url: job.url ?? '',
    postedAt: readTime(job.published_on ?? job.created_at),
    title: job.title,
    body: htmlToText(job.description ?? ''),
    author: '',
    company: companyOf(name || company, [job.city, job.country].filter(Boolean).join(', ')),
    department: job.department ?? '',
  })),
);

/**
 * SmartRecruiters lists jobs without texts; those of new jobs are requested separately, up to this many per
 * run.
 */
const MAX_DETAILS = 40;
const MAX_PAGES = 20;
const PAGE = 100;

const postingSchema = z.object({
  // Limited, because it becomes part of URLs.
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

/** A page of jobs, with the total number of jobs and the number on the page. */
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

/** What changed on a board, whose jobs come in several responses: comparing two thousand takes up to 0.3 s. */
export const smartRecruitersChanges: Parser<BoardArgs & { jobs: SourceItem[] }, BoardChanges> = {
  name: 'smartrecruiters_changes',
  parse(_last, { jobs, cursor, ...at }) {
    const changes = boardChanges(cursor, jobs, at);
    return { ...changes, items: boundedItems(changes.items, MOST_JOBS) };
  },
};

/**
 * Reads the open jobs of a board on SmartRecruiters (https://developers.smartrecruiters.com, Posting API).
 */
export const readSmartRecruiters: Reader = async (task) => {
  const base = `${task.sites.smartrecruiters}/v1/companies/${boardOf(task)}/postings`;
  const company = task.source.settings.board ?? '';
  const jobs = new Map<string, SourceItem>();
  let shown = 0;
  let isLast: boolean;
  let isWhole: boolean;
  let pages = 0;
  let answer: FetchedPage;
  do {
    // The offset counts the jobs received, which may be fewer than requested.
    const address = `${base}?limit=${PAGE}&offset=${shown}`;
    answer = demandSuccess(await task.web.read(address, { accept: 'application/json' }));
    const { items, totalFound, count } = await task.parse(smartRecruitersJobs, answer, { board: company });
    for (const job of items) jobs.set(job.id, job);
    shown += count;
    pages++;
    isWhole = shown >= totalFound;
    isLast = count === 0 || isWhole || pages === MAX_PAGES || holdsEnough(jobs.values());
  } while (!isLast);
  const isOld = ({ postedAt }: SourceItem) => (postedAt ?? task.now) < task.oldest;
  const wanted = [...jobs.values()].filter((job) => task.isNew(job.id) && !isOld(job));
  const details = await readDetails(task, wanted, MAX_DETAILS, (job) => detailed(task, base, job));
  const { fault, more } = details;
  // Remembered as long as they are listed.
  const items = [...details.items, ...[...jobs.values()].filter((job) => !task.isNew(job.id))];
  const { cursor } = task.position;
  // A partial list does not show which jobs closed.
  if (!isWhole || task.isOver()) return { items, position: { cursor }, fault, more };
  const args = { jobs: [...jobs.values()], cursor, company, now: task.now, platform: 'smartrecruiters' };
  const changes = await task.parse(smartRecruitersChanges, answer, args);
  return { items: [...items, ...changes.items], position: { cursor: changes.cursor }, fault, more };
};

async function detailed(task: ReadingTask, base: string, job: SourceItem): Promise<SourceItem> {
  const address = `${base}/${encodeURIComponent(job.id)}`;
  const answer = await task.web.read(address, { accept: 'application/json' });
  if (answer.status === 404 || answer.status === 410) return job; // just closed
  return task.parse(smartRecruitersDetail, demandSuccess(answer), { job });
}

function toItem(posting: Posting, board: string): SourceItem {
  const { fullLocation, city, country } = posting.location ?? {};
  const site = `https://jobs.smartrecruiters.com/${encodeURIComponent(board)}`;
  return {
    id: posting.id,
    platform: 'smartrecruiters',
    url: `${site}/${urlPart(posting.id)}`,
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
