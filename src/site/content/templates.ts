import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import createParser, { type MarkdownIt, type Token } from 'markdown-it';
import anchor from 'markdown-it-anchor';
import { readPalette } from '../../http/representation.ts';
import { addAll } from '../../lib/lists.ts';
import { type Asset, hashed } from './assets.ts';
import { accentStyles, type SiteIdentity } from './identity.ts';

/** In the order in which later rules win. */
const STYLES = [
  'tokens.css',
  'base.css',
  'frame.css',
  'footer.css',
  'prose.css',
  'landing.css',
  'reference.css',
  'code.css',
];

/** What every document's frame shows, whichever page it is around. */
export interface FrameView {
  identity: SiteIdentity;
  /** Whose header it has: that of the business, or that of Signalpost. */
  siteName: string;
  isOfProduct: boolean;
  /** Where the header's name leads. */
  home: string;
  /** The header's button. */
  action: { label: string; path: string } | null;
  locale: string;
  stylesheet: string;
  /** For the header; null where `site.json` names none. */
  icon: string | null;
  favicon: { path: string; contentType: string };
  shareImage: { url: string; width: number; height: number } | null;
  phoneLink: string;
  hours: { days: string; times: string }[];
  footerGroups: { id: string; name: string; links: { path: string; title: string }[] }[];
  smallPrint: { path: string; title: string }[];
  navigation: { path: string; label: string; current: 'page' | 'true' | null }[];
}

/** A page of the site inside its frame. */
export interface PageView extends FrameView {
  layout: 'landing' | 'article' | 'reference';
  documentTitle: string;
  title: string;
  description: string;
  section: string;
  url: string;
  markdownUrl: string;
  jsonLd: string;
  /** Address of the page's script; null where it needs none. */
  script: string | null;
  /** The rendered markdown. */
  content: string;
  toc: Heading[];
  trail: { path: string; title: string }[];
  siblings: { path: string; title: string; current: boolean }[];
  /** The pages before and after it in its section. */
  previous: { path: string; title: string } | null;
  next: { path: string; title: string } | null;
  /** `2026-11-20`. */
  updated: string;
}

/** What is shown where there is no page; not to be indexed. */
export interface MessageView extends FrameView {
  layout: 'message';
  documentTitle: string;
  title: string;
  description: string;
  url: null;
  script: null;
  jsonLd: null;
}

/** The documents that the site's templates make. */
export interface Templates {
  page(view: PageView): string;
  notFound(view: MessageView & { path: string; links: object[]; nearest: object[] }): string;
  error(view: MessageView & { status: number; detail: string }): string;
}

/** Compiles the templates; everything that they print is escaped unless a template says otherwise. */
export function createTemplates(): Templates {
  const views = fileURLToPath(new URL('./templates', import.meta.url));
  const eta = new Eta({ views, cache: true });
  return {
    page: (view) => eta.render(`./${view.layout}`, view),
    notFound: (view) => eta.render('./not-found', view),
    error: (view) => eta.render('./error', view),
  };
}

/** The one script, of pages with code. */
export async function readScript(): Promise<Asset> {
  const script = await readFile(new URL('./scripts/copy.js', import.meta.url));
  return hashed('/assets/copy.js', script, 'text/javascript; charset=utf-8');
}

/** The one stylesheet of all pages in the site's colour, under an address made of its bytes. */
export async function readStylesheet(accent: string): Promise<Asset> {
  const parts = await Promise.all([
    readPalette(),
    ...STYLES.map((name) => readFile(new URL(`./styles/${name}`, import.meta.url), 'utf8')),
  ]);
  return hashed(
    '/assets/site.css',
    Buffer.from([accentStyles(accent), ...parts].join('\n')),
    'text/css; charset=utf-8',
  );
}

/** A heading with the anchor that links reach it by. */
export interface Heading {
  id: string;
  text: string;
  level: number;
}

/** An address that a page points to, and the line of the file that it stands on. */
export interface PageLink {
  href: string;
  line: number;
  kind: 'link' | 'image';
}

/** A page's markdown taken apart: everything that is checked, before anything is rendered. */
export interface ParsedMarkdown {
  tokens: Token[];
  headings: (Heading & { line: number })[];
  links: PageLink[];
  /** Its fenced code, each block with the language it names and its line. */
  code: { language: string; code: string; line: number }[];
}

/** A parser with anchors; raw HTML is shown as text, so that no page can bring a script or an external request. */
export function createMarkdown(): MarkdownIt {
  const linkHeading = anchor.permalink.headerLink({ class: 'anchor' });
  const markdown = createParser({ html: false, linkify: false });
  return markdown.use(anchor, {
    slugify,
    tabIndex: false,
    permalink: (slug, options, state, index) => {
      if (state.tokens[index]?.tag !== 'h1') linkHeading(slug, options, state, index);
    },
  });
}

/** Parses `body`, whose first line is line `firstLine` of its file. */
export function parseMarkdown(markdown: MarkdownIt, body: string, firstLine: number): ParsedMarkdown {
  const tokens = markdown.parse(body, {});
  const parsed: ParsedMarkdown = { tokens, headings: [], links: [], code: [] };
  let line = firstLine;
  tokens.forEach((token, index) => {
    // The words of a table's cell know no line; the row before them does.
    if (token.map !== null) line = firstLine + token.map[0];
    if (token.type === 'heading_open') {
      const text = plainText(tokens[index + 1]);
      const level = Number(token.tag.slice(1));
      parsed.headings.push({ id: String(token.attrGet('id') ?? ''), text, level, line });
    }
    if (token.type === 'fence') {
      parsed.code.push({ language: fenceLanguage(token), code: token.content.trimEnd(), line });
    }
    if (token.type === 'inline') addAll(parsed.links, linksOf(token, line));
  });
  return parsed;
}

/** `sh` of a block that opens with three backticks and `sh quick-start.sh`; empty where none is named. */
export function fenceLanguage(token: Token): string {
  return token.info.trim().split(/\s+/)[0] ?? '';
}

/** `quick-start.sh` of a block that opens with three backticks and `sh quick-start.sh`. */
export function fenceTitle(token: Token): string {
  return token.info.trim().split(/\s+/)[1] ?? '';
}

/** The words of an inline token, without their marks. */
export function plainText(token: Token | undefined): string {
  return (token?.children ?? [])
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('');
}

/** `Not found (404)` becomes `not-found-404`, and `NOT_FOUND` `not-found`, as in the `type` of a problem. */
function slugify(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/[\s_-]+/g, '-');
}

function linksOf(inline: Token, firstLine: number): PageLink[] {
  const links: PageLink[] = [];
  let line = firstLine;
  for (const child of inline.children ?? []) {
    if (child.type === 'softbreak' || child.type === 'hardbreak') line++;
    // A heading's own anchor is a link too, and always holds.
    if (child.type === 'link_open' && child.attrGet('class') !== 'anchor') {
      links.push({ href: String(child.attrGet('href') ?? ''), line, kind: 'link' });
    }
    if (child.type === 'image') links.push({ href: String(child.attrGet('src') ?? ''), line, kind: 'image' });
  }
  return links;
}
