import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import createParser, { type MarkdownIt, type Token } from 'markdown-it';
import { readPalette } from '../../http/representation.ts';
import { addAll } from '../../lib/lists.ts';
import { type Asset, hashed } from './assets.ts';
import { accentStyles, type SiteIdentity } from './identity.ts';

/** The order matters: later rules win. */
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

/** The data of the frame around every document. */
export interface FrameView {
  identity: SiteIdentity;
  /** The name in the header: that of the business, or Signalpost. */
  siteName: string;
  isOfProduct: boolean;
  /** The target of the name in the header. */
  home: string;
  /** The header's button. */
  action: { label: string; path: string } | null;
  locale: string;
  stylesheet: string;
  /** The icon in the header; null if `site.json` has none. */
  icon: string | null;
  favicon: { path: string; contentType: string };
  shareImage: { url: string; width: number; height: number } | null;
  phoneLink: string;
  hours: { days: string; times: string }[];
  footerGroups: { id: string; name: string; links: { path: string; title: string }[] }[];
  smallPrint: { path: string; title: string }[];
  navigation: { path: string; label: string; current: 'page' | 'true' | null }[];
}

/** A page of the site with its frame. */
export interface PageView extends FrameView {
  layout: 'landing' | 'article' | 'reference';
  documentTitle: string;
  title: string;
  description: string;
  section: string;
  url: string;
  markdownUrl: string;
  jsonLd: string;
  /** The address of the page's script; null if it needs none. */
  script: string | null;
  /** The rendered markdown. */
  content: string;
  toc: Heading[];
  trail: { path: string; title: string }[];
  siblings: { path: string; title: string; current: boolean }[];
  /** The previous and next page of its section. */
  previous: { path: string; title: string } | null;
  next: { path: string; title: string } | null;
  /** `2026-11-20`. */
  updated: string;
}

/** A message where there is no page; not to be indexed. */
export interface MessageView extends FrameView {
  layout: 'message';
  documentTitle: string;
  title: string;
  description: string;
  url: null;
  script: null;
  jsonLd: null;
}

/** Renders the documents of the site's templates. */
export interface Templates {
  page(view: PageView): string;
  notFound(view: MessageView & { path: string; links: object[]; nearest: object[] }): string;
  error(view: MessageView & { status: number; detail: string }): string;
}

/** Compiles the templates; all output is escaped unless a template opts out. */
export function createTemplates(): Templates {
  const views = fileURLToPath(new URL('./templates', import.meta.url));
  const eta = new Eta({ views, cache: true });
  return {
    page: (view) => eta.render(`./${view.layout}`, view),
    notFound: (view) => eta.render('./not-found', view),
    error: (view) => eta.render('./error', view),
  };
}

/** The only script, used by pages with code. */
export async function readScript(): Promise<Asset> {
  const script = await readFile(new URL('./scripts/copy.js', import.meta.url));
  return hashed('/assets/copy.js', script, 'text/javascript; charset=utf-8');
}

/** The only stylesheet, in the site's colour, at an address with a hash of its bytes. */
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

/** A heading with its anchor. */
export interface Heading {
  id: string;
  text: string;
  level: number;
}

/** The target of a link on a page, and its line in the file. */
export interface PageLink {
  href: string;
  line: number;
  kind: 'link' | 'image';
}

/** A page's parsed markdown: everything that is validated before rendering. */
export interface ParsedMarkdown {
  tokens: Token[];
  headings: (Heading & { line: number })[];
  links: PageLink[];
  /** Its fenced code blocks, with language and line. */
  code: { language: string; code: string; line: number }[];
}

/** A parser with anchors; raw HTML is shown as text, so that no page can contain a script or an external request. */
export function createMarkdown(): MarkdownIt {
  const markdown = createParser({ html: false, linkify: false });
  markdown.core.ruler.push('anchor', ({ tokens }) => addAnchors(tokens));
  return markdown;
}

/** Gives each heading an id, and makes those below the first level links to themselves. */
function addAnchors(tokens: readonly Token[]): void {
  /** Ids in use, with the number to try next for another heading with the same text. */
  const next = new Map<string, number>();
  tokens.forEach((token, index) => {
    if (token.type !== 'heading_open') return;
    const inline = tokens[index + 1];
    const slug = slugify(plainText(inline));
    let id = slug;
    let number = next.get(slug) ?? 1;
    while (next.has(id)) id = `${slug}-${number++}`;
    next.set(slug, number);
    next.set(id, next.get(id) ?? 1);
    token.attrSet('id', id);
    if (token.tag === 'h1' || inline === undefined) return;
    const open = new createParser.Token('link_open', 'a', 1);
    open.attrs = [
      ['class', 'anchor'],
      ['href', `#${id}`],
    ];
    inline.children = [open, ...(inline.children ?? []), new createParser.Token('link_close', 'a', -1)];
  });
}

/** Parses `body`, which starts at line `firstLine` of its file. */
export function parseMarkdown(markdown: MarkdownIt, body: string, firstLine: number): ParsedMarkdown {
  const tokens = markdown.parse(body, {});
  const parsed: ParsedMarkdown = { tokens, headings: [], links: [], code: [] };
  let line = firstLine;
  tokens.forEach((token, index) => {
    // Tokens in table cells have no line; that of the row applies.
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

/** `sh` for a block that opens with three backticks and `sh quick-start.sh`; empty if it names none. */
export function fenceLanguage(token: Token): string {
  return token.info.trim().split(/\s+/)[0] ?? '';
}

/** `quick-start.sh` for a block that opens with three backticks and `sh quick-start.sh`. */
export function fenceTitle(token: Token): string {
  return token.info.trim().split(/\s+/)[1] ?? '';
}

/** The text of an inline token, without markup. */
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
    // A heading's own anchor is a link, too, and always valid.
    if (child.type === 'link_open' && child.attrGet('class') !== 'anchor') {
      links.push({ href: String(child.attrGet('href') ?? ''), line, kind: 'link' });
    }
    if (child.type === 'image') links.push({ href: String(child.attrGet('src') ?? ''), line, kind: 'image' });
  }
  return links;
}
