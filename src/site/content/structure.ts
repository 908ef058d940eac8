import createParser, { type Token } from 'markdown-it';
import { addAll } from '../../lib/lists.ts';
import type { FrontMatter } from './page-file.ts';

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
export function structure(tokens: readonly Token[], layout: FrontMatter['layout']): Token[] {
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
