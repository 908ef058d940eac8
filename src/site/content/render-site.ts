import type { MarkdownIt } from 'markdown-it';
import { estimateTokenCount } from 'tokenx';
import { LLMS_PATH, pageUrl } from '../addresses.ts';
import { referenceMarkdown } from '../reference/reference-markdown.ts';
import { absoluteLinks } from './absolute-links.ts';
import type { NamedAsset } from './assets.ts';
import type { ParsedPage } from './checks.ts';
import { faviconOf } from './favicon.ts';
import type { Highlight } from './highlight.ts';
import type { SiteIdentity } from './identity.ts';
import { parseMarkdown } from './markdown.ts';
import { operationsMarks } from './placeholders.ts';
import { createBodyRenderer } from './render-body.ts';
import type { Page, SiteContent } from './site.ts';
import { structure } from './structure.ts';
import { createTemplates, readScript, readStylesheet } from './templates.ts';
import { createViews } from './views.ts';

/** A site that was read and found without fault. */
export interface CheckedSite {
  identity: SiteIdentity;
  baseUrl: string;
  parser: MarkdownIt;
  pages: readonly ParsedPage[];
  assets: ReadonlyMap<string, NamedAsset>;
  highlight: Highlight;
}

/** Renders every page once; requests are answered from what this returns. */
export async function renderSite(site: CheckedSite): Promise<SiteContent> {
  const script = await readScript();
  const stylesheet = await readStylesheet(site.identity.accent);
  const favicon = faviconOf(site);
  const templates = createTemplates();
  const views = createViews({ ...site, stylesheet, script, favicon });
  const renderBody = createBodyRenderer(site.parser, site);

  const render = (page: ParsedPage): Page => {
    const { front, path, lastModified, parsed } = page;
    const markdown = markdownOf(page, site);
    const tokens = estimateTokenCount(markdown);
    const headings = parsed.headings.map(({ id, text, level }) => ({ id, text, level }));
    const content = renderBody(structure(parsed.tokens, front.layout));
    const html = templates.page(views.page({ page, content, headings, tokens }));
    const { title, description, section } = front;
    return { path, title, description, section, markdown, html, tokens, lastModified, headings };
  };
  const pages = site.pages.map((page): Page => {
    const [mark] = operationsMarks(page.body);
    if (mark === undefined) return render(page);
    const fill = (text: string) =>
      withBody(
        page,
        page.body.replace(mark.text, () => text),
        site,
      );
    return {
      ...render(fill('')),
      complete: (api) => render(fill(referenceMarkdown(api, mark.tags))),
    };
  });
  const notFound = views.message('Page not found');
  return {
    identity: site.identity,
    pages,
    notFoundHtml: (input) => templates.notFound({ ...notFound, ...input }),
    errorHtml: ({ status, title, detail }) => templates.error({ ...views.message(title), status, detail }),
    favicon,
    assets: [stylesheet, script, ...site.assets.values()],
  };
}

function withBody(page: ParsedPage, body: string, { parser }: CheckedSite): ParsedPage {
  return { ...page, body, parsed: parseMarkdown(parser, body, page.bodyLine) };
}

/** The page's own text; after its heading a line tells an agent that came here by a link where the index is. */
function markdownOf(page: ParsedPage, { parser, baseUrl, assets }: CheckedSite): string {
  const absolute = absoluteLinks(page.body, page.parsed.tokens, {
    pageUrl: pageUrl(baseUrl, page.path),
    baseUrl,
    assetPath: (path) => assets.get(path)?.path ?? path,
  });
  for (const { href } of parseMarkdown(parser, absolute, 1).links) {
    if (!/^[a-z]+:/.test(href)) throw new Error(`${page.file}: the link "${href}" was not made absolute.`);
  }
  const [heading = '', ...rest] = absolute.trim().split('\n');
  const index = `> For AI agents: the index of this site is ${baseUrl}${LLMS_PATH}`;
  return `${[heading, '', index, ...rest].join('\n')}\n`;
}
