import { addAll } from '../../lib/lists.ts';
import { readAssets } from './assets.ts';
import { checkSite, OTHER_PATHS, type ParsedPage } from './checks.ts';
import { highlightAll } from './highlight.ts';
import { fillPlaceholders, type LocatedIdentity, loadIdentity, placeholderValues } from './identity.ts';
import { ContentError, type ContentFault, readPageFiles } from './page-file.ts';
import { renderSite, type SiteContent } from './render-site.ts';
import { createMarkdown, parseMarkdown } from './templates.ts';

export type { SiteContent, SitePage, TitledLink } from './render-site.ts';

export interface SiteContentOptions {
  contentDir: string;
  /** Without a trailing slash. */
  baseUrl: string;
  /** Caches highlighted code between starts; without it, every start highlights again. */
  cacheFile?: string;
}

/** Reads, validates and renders the site. @throws ContentError with file and line of every fault */
export async function loadSiteContent(options: SiteContentOptions): Promise<SiteContent> {
  const { contentDir, baseUrl, cacheFile = null } = options;
  const faults: ContentFault[] = [];
  const located = await loadIdentity(contentDir);
  const parser = createMarkdown();
  const assetFaults: ContentFault[] = [];
  const [{ pages, unread }, assets] = await Promise.all([
    parsePages(parser, located, { contentDir, baseUrl, faults }),
    readAssets(contentDir, assetFaults),
  ]);
  // Invalid images are not among the assets, so every page that shows one would be reported as well.
  if (assetFaults.length === 0) {
    const otherPaths = [...OTHER_PATHS, ...unread, ...unread.map((path) => `${path}.md`)];
    addAll(faults, checkSite({ pages, assets, otherPaths }, located, contentDir));
  }
  addAll(faults, assetFaults);
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
): Promise<{ pages: ParsedPage[]; unread: string[] }> {
  const values = placeholderValues(identity, baseUrl);
  const { files, unread } = await readPageFiles(contentDir, faults);
  const pages = files.map((file): ParsedPage => {
    const body = fillPlaceholders(file, values, faults);
    return { ...file, body, parsed: parseMarkdown(parser, body, file.bodyLine) };
  });
  const rank = ({ front }: ParsedPage) => identity.sections.indexOf(front.section);
  pages.sort((a, b) => rank(a) - rank(b) || a.front.order - b.front.order || (a.path < b.path ? -1 : 1));
  return { pages, unread };
}
