import { z } from 'zod';
import { listOf } from '../documents/json.ts';
import { decodeEntities, htmlToText } from '../html-text.ts';
import type { Reader } from '../reader.ts';
import { readTime } from '../source-time.ts';
import { boardOf, boardParser, companyOf, MOST_JOBS, readBoard } from './board.ts';

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

/** Open jobs of a board on Greenhouse. */
export const readGreenhouse: Reader = (task) =>
  readBoard(task, `${task.sites.greenhouse}/v1/boards/${boardOf(task)}/jobs?content=true`, greenhouseBoard);

export const greenhouseBoard = boardParser('greenhouse', greenhouseSchema, ({ jobs }, { company }) =>
  jobs.map((job) => ({
    id: job.id,
    platform: 'greenhouse',
    url: job.absolute_url,
    postedAt: readTime(job.first_published ?? job.updated_at ?? undefined),
    title: job.title,
    body: htmlToText(decodeEntities(job.content ?? '')), // HTML, escaped once more
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

/** Open jobs of a board on Lever. */
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

/** Requirements and benefits are lists of their own, besides the description. */
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

/** Open jobs of a board on Ashby; unlisted ones are skipped. */
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

/** Open jobs of a board on Recruitee (https://docs.recruitee.com/reference/offers). */
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

/** Open jobs of a board on Workable, by the interface of its widget. */
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
