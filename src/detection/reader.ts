import { z } from 'zod';
import type { Source, SourcePosition, SourceQuota } from '../model/source.ts';
import type { SecretName } from '../model/source-settings.ts';
import type { Sites } from './sites.ts';
import { SourceFault } from './source-fault.ts';
import type { SourceItem } from './source-item.ts';
import type { Page, ReadOptions } from './web.ts';

/** The web as far as a run may use it: all it reads counts against its one deadline. */
export interface Pages {
  /** Any status but those that ask for a pause. @throws SourceFault, PutOff */
  read(address: string, options: ReadOptions): Promise<Page>;
  /** Listens to a stream for so long, or until `take` has enough. @throws SourceFault, PutOff */
  listen(address: string, limitMs: number, take: (text: string) => boolean): Promise<void>;
  /** Whoever asks the address's host for `scope` waits until then, whatever source or tenant. */
  hold(address: string, scope: string, until: number): Promise<void>;
}

/** A source as it is being read. */
export interface ReadingTask {
  source: Source;
  position: SourcePosition;
  /** Unix milliseconds. */
  now: number;
  /** What is older is not new, Unix milliseconds. */
  oldest: number;
  web: Pages;
  sites: Sites;
  secrets: Partial<Record<SecretName, string>>;
  /** Whether an item of this id was not read before. */
  isNew(id: string): boolean;
}

/** From where to go on; what is left out begins anew. */
export type NextPosition = Partial<Omit<SourcePosition, 'seen'>>;

/** What was read: items in the source's own order, and from where to go on. */
export interface Reading {
  items: SourceItem[];
  position: NextPosition;
  /** The source asked not to be read before then, Unix milliseconds. */
  notBefore?: number;
  /** There is more to read than one run may: the next one comes soon. */
  more?: boolean;
  quota?: SourceQuota | null;
}

/** Reads one kind of source. @throws SourceFault */
export type Reader = (task: ReadingTask) => Promise<Reading>;

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
