import type { DescribedApi, Document } from '../../http/openapi/document-types.ts';
import type { Page, SiteContent } from '../content/site-content.ts';

/** What the documents are made of. */
export interface DocumentParts {
  /** Without a trailing slash. */
  baseUrl: string;
  content: SiteContent;
  publicApi(): Document;
  signalApi: DescribedApi;
  /** The pages with what they get from the signal API's description, which is made for them. */
  completePages(): readonly Page[];
  /** When the server made them, Unix milliseconds: a release can change them although no page was touched. */
  madeAt: number;
}
