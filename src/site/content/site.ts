import type { Document } from '../../http/openapi/document-types.ts';
import type { Asset } from './assets.ts';
import type { SiteIdentity } from './identity.ts';
import type { Heading } from './markdown.ts';

/** One page of the site, rendered. */
export interface Page {
  /** `/`, `/pricing`, `/developers/errors`. */
  path: string;
  title: string;
  description: string;
  /** Heading it stands under in lists for agents, e.g. `Pages`, `Developers`. */
  section: string;
  /** The page's own markdown with absolute links, without front matter. */
  markdown: string;
  /** The whole document. */
  html: string;
  /** Estimated tokens of `markdown`. */
  tokens: number;
  /** Unix milliseconds. */
  lastModified: number;
  headings: Heading[];
  /** The page with the operations of the signal API in it, which are known once the server's routes are. */
  complete?(api: Document): Page;
}

/** A way on, shown where a page was not found. */
export interface TitledLink {
  title: string;
  url: string;
}

/** Everything of the site that is made once, at start. */
export interface SiteContent {
  identity: SiteIdentity;
  /** In the order of their sections, then of their places in them. */
  pages: Page[];
  notFoundHtml(input: { path: string; links: TitledLink[]; nearest: TitledLink[] }): string;
  errorHtml(input: { status: number; title: string; detail: string }): string;
  /** What browsers ask for at `/favicon.ico` without being told to. */
  favicon: Asset;
  assets: Asset[];
}
