import { z } from 'zod';
import { decodeEntities, htmlToText } from '../html-text.ts';
import { type Reader, type ReadingTask, readJson, validatorsOf } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';
import { demandSuccess } from '../web.ts';
import { boardChanges } from './board-changes.ts';

const greenhouseSchema = z.object({
  jobs: z.array(
    z.object({
      id: z.union([z.int(), z.string()]).transform(String),
      absolute_url: z.string(),
      title: z.string(),
      content: z.string().nullish(),
      company_name: z.string().nullish(),
      first_published: z.string().nullish(),
      updated_at: z.string().nullish(),
      location: z.object({ name: z.string().nullish() }).nullish(),
      departments: z.array(z.object({ name: z.string().nullish() })).nullish(),
    }),
  ),
});

/** Open jobs of a board on Greenhouse. */
export const readGreenhouse: Reader = (task) =>
  readBoard(task, `${task.sites.greenhouse}/v1/boards/${boardOf(task)}/jobs?content=true`, (board) =>
    greenhouseSchema.transform(({ jobs }) =>
      jobs.map((job) => ({
        id: job.id,
        platform: 'greenhouse',
        url: job.absolute_url,
        postedAt: readTime(job.first_published ?? job.updated_at ?? undefined),
        title: job.title,
        body: htmlToText(decodeEntities(job.content ?? '')), // HTML, escaped once more
        author: '',
        company: companyOf(job.company_name ?? board, job.location?.name),
        department: job.departments?.[0]?.name ?? '',
      })),
    ),
  );

const leverSchema = z.array(
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
    lists: z.array(z.object({ text: z.string().nullish(), content: z.string().nullish() })).nullish(),
    additionalPlain: z.string().nullish(),
    additional: z.string().nullish(),
  }),
);

/** Open jobs of a board on Lever. */
export const readLever: Reader = (task) =>
  readBoard(task, `${task.sites.lever}/v0/postings/${boardOf(task)}?mode=json`, (board) =>
    leverSchema.transform((jobs) =>
      jobs.map((job) => ({
        id: job.id,
        platform: 'lever',
        url: job.hostedUrl,
        postedAt: job.createdAt ?? null,
        title: job.text,
        body: leverText(job),
        author: '',
        company: companyOf(board, job.categories?.location),
        department: job.categories?.department ?? job.categories?.team ?? '',
      })),
    ),
  );

/** What is asked for and offered stands in lists of its own, beside the description. */
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
  jobs: z.array(
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
  ),
});

/** Open jobs of a board on Ashby; those that are not listed are nobody's business. */
export const readAshby: Reader = (task) =>
  readBoard(task, `${task.sites.ashby}/posting-api/job-board/${boardOf(task)}`, (board) =>
    ashbySchema.transform(({ jobs }) =>
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
          company: companyOf(board, job.location),
          department: job.department ?? '',
        })),
    ),
  );

/** A whole board in one answer, asked for again only where it changed; with posts that changed or closed. */
export async function readBoard(
  { source, position, web, now }: ReadingTask,
  address: string,
  schemaFor: (board: string) => z.ZodType<SourceItem[]>,
) {
  const { etag, lastModified } = position;
  const page = await web.read(address, { accept: 'application/json', etag, lastModified });
  if (page.status === 304) return { items: [], position };
  const company = source.settings.board ?? '';
  const posts = readJson(demandSuccess(page), schemaFor(company));
  const changes = boardChanges(position.cursor, posts, { now, platform: source.kind, company });
  const validators = changes.isUnsure ? {} : validatorsOf(page);
  return { items: [...posts, ...changes.items], position: { ...validators, cursor: changes.cursor } };
}

/** The board's name, as a part of an address. */
export function boardOf({ source }: ReadingTask): string {
  return encodeURIComponent(source.settings.board ?? '');
}

/** A company as a board tells of it. */
export function companyOf(
  name: string,
  location: string | null | undefined,
): { name: string; location?: string } {
  return location ? { name, location: location.slice(0, 300) } : { name };
}
