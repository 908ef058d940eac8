import type { DescribedApi, Document } from '../../http/openapi/schemas.ts';
import { CACHE_BRIEFLY, type Representation, represent } from '../../http/representation.ts';
import type { SiteContent, SitePage } from '../content/site-content.ts';
import { once } from '../once.ts';

/** Dependencies of the documents. */
export interface DocumentParts {
  /** Without a trailing slash. */
  baseUrl: string;
  content: SiteContent;
  publicApi(): Document;
  signalApi: DescribedApi;
  /** Issuers of access tokens for MCP. */
  authorizationServers: readonly string[];
  /** The pages with what they get from the signal API's description, which is made for them. */
  completePages(): readonly SitePage[];
  /** When the server made them, Unix milliseconds: a release can change them although no page was touched. */
  madeAt: number;
}

/** A document at a fixed address, for programs: an index, a map, a description. */
export interface SiteDocument {
  path: string;
  title: string;
  description: string;
  /** The answer at `now` (Unix milliseconds); the same object until it has to change. */
  at(now: number): Representation;
}

interface FixedDocumentInput {
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

/** A heading and the pages under it. */
interface Section {
  section: string;
  pages: SitePage[];
}

/** What an agent short of room may leave out (llmstxt.org); it stands last. */
export const OPTIONAL_SECTION = 'Optional';

/** The pages under their headings, in the order that the identity gives; headings without pages are left out. */
export function bySection({
  identity,
  pages,
}: Pick<SiteContent, 'identity'> & { pages: readonly SitePage[] }): Section[] {
  const named = identity.sections.filter((section) => section !== OPTIONAL_SECTION);
  const others = pages.map(({ section }) => section).filter((section) => section !== OPTIONAL_SECTION);
  return [...new Set([...named, ...others, OPTIONAL_SECTION])]
    .map((section) => ({ section, pages: pages.filter((page) => page.section === section) }))
    .filter((group) => group.pages.length > 0);
}
