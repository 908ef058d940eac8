import { z } from 'zod';
import { listOf } from '../documents/json.ts';
import { htmlToText } from '../html-text.ts';
import type { Reader } from '../reader.ts';
import { readTime } from '../source-time.ts';
import { boardOf, boardParser, companyOf, MOST_JOBS, readBoard } from './board.ts';

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
