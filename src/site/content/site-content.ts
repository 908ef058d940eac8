import { estimateTokenCount } from 'tokenx';
import { ContentError, type ContentFault } from './content-error.ts';
import { loadIdentity, type SiteIdentity } from './identity.ts';
import { createMarkdown, type Heading, parseMarkdown } from './markdown.ts';
import { type PageFile, readPageFiles } from './page-file.ts';

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
}

/** A file that pages need, under an address that changes with its bytes: it may be cached for ever. */
export interface Asset {
  path: string;
  contentType: string;
  body: Buffer;
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
  assets: Asset[];
}

export interface SiteContentOptions {
  contentDir: string;
  /** Without a trailing slash. */
  baseUrl: string;
}

/** Reads, checks and renders the site. @throws ContentError with file and line of every fault */
export async function loadSiteContent({ contentDir, baseUrl }: SiteContentOptions): Promise<SiteContent> {
  const faults: ContentFault[] = [];
  const { identity } = await loadIdentity(contentDir);
  const files = await readPageFiles(contentDir, faults);
  if (faults.length > 0) throw new ContentError(faults);

  const parser = createMarkdown();
  const document = (title: string, body: string) =>
    `<!doctype html><html lang="${identity.lang}"><head><meta charset="utf-8"><title>${parser.utils.escapeHtml(title)}</title></head><body><main>${body}</main></body></html>`;
  const rank = ({ front }: PageFile) => identity.sections.indexOf(front.section);
  const inOrder = files.sort(
    (a, b) => rank(a) - rank(b) || a.front.order - b.front.order || (a.path < b.path ? -1 : 1),
  );
  const pages = inOrder.map(({ path, front, body, bodyLine, lastModified }): Page => {
    const { headings } = parseMarkdown(parser, body, bodyLine);
    const markdown = body.trimStart().replace(/\]\(\//g, `](${baseUrl}/`);
    return {
      path,
      title: front.title,
      description: front.description,
      section: front.section,
      markdown,
      html: document(front.title, parser.render(body)),
      tokens: estimateTokenCount(markdown),
      lastModified,
      headings: headings.map(({ id, text, level }) => ({ id, text, level })),
    };
  });
  const list = (links: TitledLink[]) => links.map(({ title, url }) => `- [${title}](${url})`).join('\n');
  return {
    identity,
    pages,
    notFoundHtml: ({ path, links, nearest }) =>
      document(
        'Page not found',
        parser.render(`# Page not found\n\n\`${path}\`\n\n${list([...nearest, ...links])}`),
      ),
    errorHtml: ({ status, title, detail }) =>
      document(title, parser.render(`# ${status} ${title}\n\n${detail}`)),
    assets: [],
  };
}
