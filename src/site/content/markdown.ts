import createParser, { type MarkdownIt, type Token } from 'markdown-it';
import anchor from 'markdown-it-anchor';
import { addAll } from '../../lib/lists.ts';

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
