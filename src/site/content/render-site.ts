import createParser, { type MarkdownIt, type RendererRule, type Token } from 'markdown-it';
import { estimateTokenCount } from 'tokenx';
import type { Document } from '../../http/openapi/schemas.ts';
import { addAll } from '../../lib/lists.ts';
import { FAVICON_PATH, LLMS_PATH, pageUrl } from '../addresses.ts';
import { referenceMarkdown } from '../reference/reference-markdown.ts';
import type { Asset, NamedAsset } from './assets.ts';
import type { ParsedPage } from './checks.ts';
import type { Highlight } from './highlight.ts';
import { operationsMarks, type SiteIdentity } from './identity.ts';
import type { FrontMatter } from './page-file.ts';
import {
  createTemplates,
  fenceLanguage,
  fenceTitle,
  type Heading,
  parseMarkdown,
  plainText,
  readScript,
  readStylesheet,
} from './templates.ts';
import { createViews } from './views.ts';

/** One page of the site, rendered. */
export interface SitePage {
  /** `/`, `/pricing`, `/developers/errors`. */
  path: string;
  title: string;
  description: string;
  /** The heading that lists for agents show it under, e.g. `Pages`, `Developers`. */
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
  /**
   * The page with the operations of the signal API, which are known only after the server's routes are registered.
   */
  complete?(api: Document): SitePage;
}

/** A suggested link on the "not found" page. */
export interface TitledLink {
  title: string;
  url: string;
}

/** All content of the site that is rendered once, at startup. */
export interface SiteContent {
  identity: SiteIdentity;
  /** Sorted by section, then by position within the section. */
  pages: SitePage[];
  notFoundHtml(input: { path: string; links: TitledLink[]; nearest: TitledLink[] }): string;
  errorHtml(input: { status: number; title: string; detail: string }): string;
  /** Served at `/favicon.ico`, which browsers request unprompted. */
  favicon: Asset;
  assets: Asset[];
}

/** A site that was read and passed all checks. */
interface CheckedSite {
  identity: SiteIdentity;
  baseUrl: string;
  parser: MarkdownIt;
  pages: readonly ParsedPage[];
  assets: ReadonlyMap<string, NamedAsset>;
  highlight: Highlight;
}

/** Renders every page once; requests are answered from the result. */
export async function renderSite(site: CheckedSite): Promise<SiteContent> {
  const script = await readScript();
  const stylesheet = await readStylesheet(site.identity.accent);
  const favicon = faviconOf(site);
  const templates = createTemplates();
  const views = createViews({ ...site, stylesheet, script, favicon });
  const renderBody = createBodyRenderer(site.parser, site);

  const render = (page: ParsedPage): SitePage => {
    const { front, path, lastModified, parsed } = page;
    const markdown = markdownOf(page, site);
    const tokens = estimateTokenCount(markdown);
    const headings = parsed.headings.map(({ id, text, level }) => ({ id, text, level }));
    const content = renderBody(structure(parsed.tokens, front.layout));
    const html = templates.page(views.page({ page, content, headings, tokens }));
    const { title, description, section } = front;
    return { path, title, description, section, markdown, html, tokens, lastModified, headings };
  };
  const pages = site.pages.map((page): SitePage => {
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

/** The page's own text; a line after its heading points agents that followed a link here to the index. */
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

/** The favicon: that of `site.json`, or the first letter of the name on the accent colour. */
function faviconOf({
  identity,
  assets,
}: {
  identity: SiteIdentity;
  assets: ReadonlyMap<string, NamedAsset>;
}): Asset {
  const own = assets.get(`/assets/${identity.icon}`);
  if (own !== undefined) return { path: FAVICON_PATH, contentType: own.contentType, body: own.body };
  const [letter = ''] = [...identity.name].filter((point) => /[\p{L}\p{N}]/u.test(point));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect width="32" height="32" rx="7" fill="${identity.accent}"/><text x="16" y="23" text-anchor="middle" font-family="system-ui, sans-serif" font-size="20" font-weight="700" fill="#fff">${letter.toUpperCase()}</text></svg>\n`;
  return { path: FAVICON_PATH, contentType: 'image/svg+xml', body: Buffer.from(svg) };
}

/** The dependencies for rendering the body of a page. */
interface BodyDeps {
  highlight: Highlight;
  assets: ReadonlyMap<string, NamedAsset>;
}

/** Renders tokens to the HTML inside `<main>`. */
type RenderBody = (tokens: Token[]) => string;

/** Adds the site's own code blocks, tables and images to `markdown`. */
function createBodyRenderer(markdown: MarkdownIt, { highlight, assets }: BodyDeps): RenderBody {
  const { escapeHtml } = markdown.utils;
  const { rules } = markdown.renderer;

  rules.fence = (tokens, index) => {
    const token = tokens[index];
    if (token === undefined) return '';
    const code = highlight({ language: fenceLanguage(token), code: token.content.trimEnd() });
    const title = fenceTitle(token);
    // Focusable, because wide code scrolls sideways, which keyboard users must be able to do.
    const block = `<pre tabindex="0"><code>${code}</code></pre>\n`;
    if (title === '') return block;
    return `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>\n${block}</figure>\n`;
  };
  // A scrolling table is a group named after the heading above it.
  let heading = '';
  rules.heading_open = (tokens, index, options, _env, renderer) => {
    heading = plainText(tokens[index + 1]);
    return renderer.renderToken(tokens, index, options);
  };
  rules.table_open = () => {
    const name = heading === '' ? 'Table' : `Table: ${heading}`;
    return `<div class="table" role="group" tabindex="0" aria-label="${escapeHtml(name)}">\n<table>\n`;
  };
  rules.table_close = () => '</table>\n</div>\n';
  rules.th_open = alignedCell;
  rules.td_open = alignedCell;

  let images = 0;
  rules.image = (tokens, index) => {
    const token = tokens[index];
    const asset = assets.get(String(token?.attrGet('src')));
    if (token === undefined || asset?.size == null) return '';
    // The first image of a page is visible at once; later ones load when scrolled to.
    const loading = images++ === 0 ? '' : ' loading="lazy"';
    const { width, height } = asset.size;
    const alt = escapeHtml(token.content);
    return `<img src="${asset.path}" alt="${alt}" width="${width}" height="${height}"${loading} decoding="async">`;
  };

  return (tokens) => {
    images = 0;
    heading = '';
    return markdown.renderer.render(tokens, markdown.options, {});
  };
}

/** markdown-it aligns cells with a style attribute, which the CSP forbids. */
const alignedCell: RendererRule = (tokens, index, options, _env, renderer) => {
  const token = tokens[index];
  if (token === undefined) return '';
  const style = String(token.attrGet('style') ?? '');
  token.attrs = null;
  if (style.includes('right')) token.attrSet('class', 'right');
  if (style.includes('center')) token.attrSet('class', 'center');
  if (token.tag === 'th') token.attrSet('scope', 'col');
  return renderer.renderToken(tokens, index, options);
};

const CODE_SPAN = /(`+)(?!`).*?[^`]\1(?!`)/g;
/** `](/path` of a link or image, and `[name]: /path` of a definition. */
const INLINE_TARGET = /(\]\(<?)(\/(?!\/)|#)/g;
const DEFINITION_TARGET = /^( {0,3}\[[^\]]+\]:[ \t]+<?)(\/(?!\/)|#)/;

/**
 * `markdown` with every link of this site made absolute, so that it still works where the text is copied to. Code is
 * left unchanged. markdown-it keeps no offsets of links, hence the search in the source.
 */
function absoluteLinks(
  markdown: string,
  tokens: readonly Token[],
  { pageUrl, baseUrl, assetPath }: { pageUrl: string; baseUrl: string; assetPath(path: string): string },
): string {
  const codeLines = new Set<number>();
  for (const token of tokens) {
    if (token.map === null || (token.type !== 'fence' && token.type !== 'code_block')) continue;
    for (let line = token.map[0]; line < token.map[1]; line++) codeLines.add(line);
  }
  const target = (start: string) => (start === '#' ? `${pageUrl}#` : `${baseUrl}/`);
  const rewrite = (text: string) =>
    text
      .replace(INLINE_TARGET, (_all, before: string, start: string) => before + target(start))
      .replace(DEFINITION_TARGET, (_all, before: string, start: string) => before + target(start))
      .replaceAll(`${baseUrl}/assets/`, '/assets/')
      .replace(/\/assets\/[\w.-]+/g, (path) => baseUrl + assetPath(path));
  return markdown
    .split('\n')
    .map((line, index) => (codeLines.has(index) ? line : outsideCodeSpans(line, rewrite)))
    .join('\n');
}

/** Does not recognise code spans across lines; the caller verifies that every link is absolute. */
function outsideCodeSpans(line: string, rewrite: (text: string) => string): string {
  let result = '';
  let end = 0;
  for (const span of line.matchAll(CODE_SPAN)) {
    result += rewrite(line.slice(end, span.index)) + span[0];
    end = span.index + span[0].length;
  }
  return result + rewrite(line.slice(end));
}

/** A top-level block: the tokens from its opening to its closing one. */
type Block = Token[];

/** Blocks that take the full width of a band; plain text is placed beside its heading instead. */
const WIDE: ReadonlySet<string> = new Set(['blockquote_open', 'ordered_list_open', 'table_open']);

/**
 * Groups a page's blocks for its layout, so that plain markdown is enough for a designed page:
 * - `landing`: everything before the first H2 is the opening, each H2 is a band, and its H3s are cards;
 * - `article`, `reference`: H1 and first paragraph are the header, the rest follows as text.
 * In all layouts, a paragraph that consists of links is a row of buttons, or a single button if it is one link, and
 * consecutive quotes are grouped.
 */
function structure(tokens: readonly Token[], layout: FrontMatter['layout']): Token[] {
  const blocks = splitBlocks(tokens);
  for (const block of blocks) markBlock(block);
  const [opening, ...sections] = splitAt(blocks, 'h2');
  if (layout !== 'landing') {
    const [title = [], second = [], ...rest] = opening ?? [];
    const hasLead = isPlainParagraph(second);
    if (hasLead) addClass(second[0], 'lead');
    const head = wrap('<header class="page-head">', hasLead ? [title, second] : [title], '</header>');
    const body = [hasLead ? rest : [second, ...rest], ...sections];
    return [...head, ...body.flatMap(groupQuotes)];
  }
  return [...hero(opening ?? []), ...sections.flatMap(band)];
}

function hero(blocks: Block[]): Token[] {
  const images = blocks.filter(isImage);
  const words = blocks.filter((block) => !isImage(block));
  addClass(words.find(isPlainParagraph)?.[0], 'lead');
  return [...wrap('<div class="hero">', [wrap('<div class="words">', words, '</div>'), ...images], '</div>')];
}

function band(blocks: Block[]): Token[] {
  const [intro, ...cards] = splitAt(blocks, 'h3');
  const words = groupQuotes(intro ?? []);
  const isText = cards.length === 0 && words.every(({ type }) => !WIDE.has(type));
  if (isText) {
    const [heading = [], ...text] = intro ?? [];
    return wrap(
      '<section class="band text">',
      [heading, wrap('<div class="words">', text, '</div>')],
      '</section>',
    );
  }
  const grid = wrap(
    '<div class="cards">',
    cards.map((card) => wrap('<div class="card">', card, '</div>')),
    '</div>',
  );
  return wrap('<section class="band">', [words, ...(cards.length > 0 ? [grid] : [])], '</section>');
}

/** Consecutive quotes share a row; `— Name, place` ends each. */
function groupQuotes(blocks: Block[]): Token[] {
  const result: Token[] = [];
  let quotes: Block[] = [];
  const flush = () => {
    addAll(result, quotes.length > 1 ? wrap('<div class="quotes">', quotes, '</div>') : quotes.flat());
    quotes = [];
  };
  for (const block of blocks) {
    if (tagOf(block) === 'blockquote') {
      quotes.push(block);
    } else {
      flush();
      addAll(result, block);
    }
  }
  flush();
  return result;
}

function markBlock(block: Block): void {
  const links = onlyLinks(block);
  if (links.length > 0)
    addClass(block[0], links.length > 1 || /^(tel|mailto):/.test(links[0] ?? '') ? 'actions' : 'more');
  if (tagOf(block) !== 'blockquote') return;
  block.forEach((token, index) => {
    if (token.type === 'paragraph_open' && block[index + 1]?.content.startsWith('— ')) addClass(token, 'by');
  });
}

/** The addresses of a paragraph that consists of links; otherwise none. */
function onlyLinks(block: Block): string[] {
  const inline = block[1];
  if (tagOf(block) !== 'p' || inline?.type !== 'inline') return [];
  const links: string[] = [];
  let depth = 0;
  for (const child of inline.children ?? []) {
    if (child.type === 'link_open') links.push(String(child.attrGet('href')));
    depth += child.nesting;
    const isLinked = depth > 0 || child.nesting !== 0;
    if (!isLinked && child.type !== 'softbreak' && child.content.trim() !== '') return [];
  }
  return links;
}

/** Neither a row of buttons nor a single one. */
function isPlainParagraph(block: Block): boolean {
  return tagOf(block) === 'p' && block[0]?.attrGet('class') === null && !isImage(block);
}

function isImage(block: Block): boolean {
  const children = block[1]?.children ?? [];
  return tagOf(block) === 'p' && children.length === 1 && children[0]?.type === 'image';
}

function splitBlocks(tokens: readonly Token[]): Block[] {
  const blocks: Block[] = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0 && token.nesting >= 0) blocks.push([]);
    blocks.at(-1)?.push(token);
    depth += token.nesting;
  }
  return blocks;
}

/** Groups of blocks: those before the first heading `tag`, then one group per heading. */
function splitAt(blocks: readonly Block[], tag: string): Block[][] {
  const groups: Block[][] = [[]];
  for (const block of blocks) {
    if (tagOf(block) === tag) groups.push([]);
    groups.at(-1)?.push(block);
  }
  return groups;
}

function tagOf(block: Block): string {
  return block[0]?.tag ?? '';
}

function addClass(token: Token | undefined, name: string): void {
  token?.attrJoin('class', name);
}

function wrap(open: string, blocks: readonly Block[], close: string): Token[] {
  return [markup(open), ...blocks.flat(), markup(close)];
}

function markup(html: string): Token {
  const token = new createParser.Token('html_block', '', 0);
  token.content = `${html}\n`;
  return token;
}
