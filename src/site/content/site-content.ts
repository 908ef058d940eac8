import { readAssets } from './assets.ts';
import { checkSite, OTHER_PATHS, type ParsedPage } from './checks.ts';
import { ContentError, type ContentFault } from './content-error.ts';
import { highlightAll } from './highlight.ts';
import { type LocatedIdentity, loadIdentity } from './identity.ts';
import { createMarkdown, parseMarkdown } from './markdown.ts';
import { readPageFiles } from './page-file.ts';
import { fillPlaceholders, placeholderValues } from './placeholders.ts';
import { renderSite } from './render-site.ts';
import type { SiteContent } from './site.ts';

export type { Page, SiteContent, TitledLink } from './site.ts';

export interface SiteContentOptions {
  contentDir: string;
  /** Without a trailing slash. */
  baseUrl: string;
  /** Keeps highlighted code from one start to the next; without it every start highlights again. */
  cacheFile?: string;
}

/** Reads, checks and renders the site. @throws ContentError with file and line of every fault */
export async function loadSiteContent(options: SiteContentOptions): Promise<SiteContent> {
  const { contentDir, baseUrl, cacheFile = null } = options;
  const faults: ContentFault[] = [];
  const located = await loadIdentity(contentDir);
  const parser = createMarkdown();
  const [pages, assets] = await Promise.all([
    parsePages(parser, located, { contentDir, baseUrl, faults }),
    readAssets(contentDir, faults),
  ]);
  if (faults.length === 0) {
    faults.push(...checkSite({ pages, assets, otherPaths: OTHER_PATHS }, located, contentDir));
  }
  const { escapeHtml } = parser.utils;
  const blocks = pages.flatMap(({ file, parsed }) => parsed.code.map((code) => ({ ...code, file })));
  const highlight = await highlightAll({ blocks, cacheFile, escapeHtml, faults });
  if (faults.length > 0) throw new ContentError(faults);
  return renderSite({ identity: located.identity, baseUrl, parser, pages, assets, highlight });
}

async function parsePages(
  parser: ReturnType<typeof createMarkdown>,
  { identity }: LocatedIdentity,
  { contentDir, baseUrl, faults }: { contentDir: string; baseUrl: string; faults: ContentFault[] },
): Promise<ParsedPage[]> {
  const values = placeholderValues(identity, baseUrl);
  const files = await readPageFiles(contentDir, faults);
  const pages = files.map((file): ParsedPage => {
    const body = fillPlaceholders(file, values, faults);
    return { ...file, body, parsed: parseMarkdown(parser, body, file.bodyLine) };
  });
  const rank = ({ front }: ParsedPage) => identity.sections.indexOf(front.section);
  return pages.sort(
    (a, b) => rank(a) - rank(b) || a.front.order - b.front.order || (a.path < b.path ? -1 : 1),
  );
}
