import { z } from 'zod';
import type { Source, SourcePosition } from '../model/source.ts';
import { SourceFault } from './source-fault.ts';
import type { SourceItem } from './source-item.ts';
import type { Page, ReadOptions } from './web.ts';

/** The web as far as a run may use it: all it reads counts against its one deadline. */
export interface Pages {
  /** Any status but those that ask for a pause. @throws SourceFault, PutOff */
  read(address: string, options: ReadOptions): Promise<Page>;
}

/** A source as it is being read. */
export interface ReadingTask {
  source: Source;
  position: SourcePosition;
  /** Unix milliseconds. */
  now: number;
  web: Pages;
  sites: Sites;
}

/** What was read: items in the source's own order, and from where to go on. */
export interface Reading {
  items: SourceItem[];
  position: Omit<SourcePosition, 'seen'>;
  /** The source asked not to be read before then, Unix milliseconds; 0: it did not. */
  notBefore: number;
}

/** Reads one kind of source. @throws SourceFault */
export type Reader = (task: ReadingTask) => Promise<Reading>;

/** Where the services behind the kinds are. */
export interface Sites {
  hackernews: string;
  stackexchange: string;
  greenhouse: string;
  lever: string;
  ashby: string;
}

export const SITES: Sites = {
  hackernews: 'https://hn.algolia.com',
  stackexchange: 'https://api.stackexchange.com',
  greenhouse: 'https://boards-api.greenhouse.io',
  lever: 'https://api.lever.co',
  ashby: 'https://api.ashbyhq.com',
};

/** How far back the first run of a search goes. */
export const FIRST_LOOK_MS = 7 * 86_400_000;

/** The JSON of an answer, as far as it is needed. @throws SourceFault `invalid_answer` */
export function readJson<S extends z.ZodType>(page: Page, schema: S): z.output<S> {
  const parsed = schema.safeParse(jsonOf(page.body.toString('utf8')));
  if (parsed.success) return parsed.data;
  const fault = z.prettifyError(parsed.error).split('\n')[0];
  throw new SourceFault('invalid_answer', `The service's answer is not of the form it documents (${fault}).`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SourceFault('invalid_answer', "The service's answer is no JSON.");
  }
}

/** The validators that an answer can be asked for again with. */
export function validatorsOf({ headers }: Page): Pick<SourcePosition, 'etag' | 'lastModified'> {
  return { etag: headers.etag ?? null, lastModified: headers['last-modified'] ?? null };
}
