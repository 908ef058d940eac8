import type { Deprecation } from '../../http/deprecations.ts';
import type { SiteContent } from '../content/site-content.ts';

/** What the documents are made of. */
export interface DocumentParts {
  /** Without a trailing slash. */
  baseUrl: string;
  content: SiteContent;
  deprecations: readonly Deprecation[];
  /** When the server made them, Unix milliseconds: a release can change them although no page was touched. */
  madeAt: number;
}
