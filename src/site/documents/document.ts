import { CACHE_BRIEFLY, type Representation, represent } from '../../http/representation.ts';
import { once } from '../once.ts';

/** A document at a fixed address, for programs: an index, a map, a description. */
export interface SiteDocument {
  path: string;
  title: string;
  description: string;
  /** The answer at `now` (Unix milliseconds); the same object until it has to change. */
  at(now: number): Representation;
}

export interface FixedDocumentInput {
  path: string;
  title: string;
  description: string;
  contentType: string;
  body: string;
  /** Unix milliseconds. */
  lastModified: number;
  headers?: Record<string, string>;
}

export const TEXT = 'text/plain; charset=utf-8';
export const MARKDOWN = 'text/markdown; charset=utf-8';

/** A document that is made when it is first asked for. */
export function lateDocument(
  about: Pick<FixedDocumentInput, 'path' | 'title' | 'description'>,
  make: () => Omit<FixedDocumentInput, 'path' | 'title' | 'description'>,
): SiteDocument {
  const made = once(() => fixedDocument({ ...about, ...make() }));
  return { ...about, at: (now) => made().at(now) };
}

/** A document that stays what it was at start. */
export function fixedDocument({ path, title, description, ...answer }: FixedDocumentInput): SiteDocument {
  const representation = represent({ ...answer, cacheControl: CACHE_BRIEFLY });
  return { path, title, description, at: () => representation };
}
