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
  complete?(api: Document): SitePage;
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
  pages: SitePage[];
  notFoundHtml(input: { path: string; links: TitledLink[]; nearest: TitledLink[] }): string;
  errorHtml(input: { status: number; title: string; detail: string }): string;
  /** Served at `/favicon.ico`, which browsers request unprompted. */
  favicon: Asset;
  assets: Asset[];
}

/** A site that was read and found without fault. */
interface CheckedSite {
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

/** The icon of browser tabs: that of `site.json`, or the name's first letter on the accent. */
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

/** What a page's body needs to be rendered, beside its tokens. */
interface BodyDeps {
  highlight: Highlight;
  assets: ReadonlyMap<string, NamedAsset>;
}

/** Renders tokens to the HTML inside `<main>`. */
type RenderBody = (tokens: Token[]) => string;

/** Teaches `markdown` the site's own code blocks, tables and images. */
function createBodyRenderer(markdown: MarkdownIt, { highlight, assets }: BodyDeps): RenderBody {
  const { escapeHtml } = markdown.utils;
  const { rules } = markdown.renderer;

  rules.fence = (tokens, index) => {
    const token = tokens[index];
    if (token === undefined) return '';
    const code = highlight({ language: fenceLanguage(token), code: token.content.trimEnd() });
    const title = fenceTitle(token);
    // Focusable, as wide code scrolls sideways, and a keyboard must reach what is out of sight.
    const block = `<pre tabindex="0"><code>${code}</code></pre>\n`;
    if (title === '') return block;
    return `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>\n${block}</figure>\n`;
  };
  rules.table_open = (tokens, index) =>
    `<div class="table" role="group" tabindex="0" aria-label="${escapeHtml(tableName(tokens, index))}">\n<table>\n`;
  rules.table_close = () => '</table>\n</div>\n';
  rules.th_open = alignedCell;
  rules.td_open = alignedCell;

  let images = 0;
  rules.image = (tokens, index) => {
    const token = tokens[index];
    const asset = assets.get(String(token?.attrGet('src')));
    if (token === undefined || asset?.size == null) return '';
    // What is first on a page is in sight at once; what comes later may wait until it is scrolled to.
    const loading = images++ === 0 ? '' : ' loading="lazy"';
    const { width, height } = asset.size;
    const alt = escapeHtml(token.content);
    return `<img src="${asset.path}" alt="${alt}" width="${width}" height="${height}"${loading} decoding="async">`;
  };

  return (tokens) => {
    images = 0;
    return markdown.renderer.render(tokens, markdown.options, {});
  };
}

/** markdown-it aligns by a style attribute, which the CSP forbids. */
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

/** A scrolling table is a named group: by the heading that it stands under. */
function tableName(tokens: readonly Token[], index: number): string {
  for (let at = index; at > 0; at--) {
    if (tokens[at]?.type === 'heading_open') return `Table: ${plainText(tokens[at + 1])}`;
  }
  return 'Table';
}

const CODE_SPAN = /(`+)(?!`).*?[^`]\1(?!`)/g;
/** `](/path` of a link or an image, and `[name]: /path` of a definition. */
const INLINE_TARGET = /(\]\(<?)(\/(?!\/)|#)/g;
const DEFINITION_TARGET = /^( {0,3}\[[^\]]+\]:[ \t]+<?)(\/(?!\/)|#)/;

/**
 * `markdown` with every link of this site made absolute, so that it still holds where the text was copied to. Code is
 * left as it is. markdown-it keeps no offsets of links, hence the search in the source.
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

/** A code span that goes over lines is not seen as one; the caller proves that every link came out absolute. */
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

/** What a band gives its whole width to; plain text stands beside its heading instead. */
const WIDE: ReadonlySet<string> = new Set(['blockquote_open', 'ordered_list_open', 'table_open']);

/**
 * Groups a page's blocks for its layout, so that plain markdown is enough for a designed page:
 * - `landing`: what stands before the first H2 is the opening, each H2 a band, its H3s cards;
 * - `article`, `reference`: H1 and first paragraph are the head, the rest runs on.
 * In all of them a paragraph of nothing but links is a row of buttons, or a way on if it is one link alone, and quotes
 * that follow each other stand together.
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

/** Quotes that stand next to each other share a row; `— Name, place` closes each. */
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

/** The addresses of a paragraph that holds nothing but links; else none. */
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

/** Neither buttons nor a way on. */
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

/** Groups of blocks: what stands before the first heading `tag`, then one group for each. */
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
