import MarkdownIt from 'markdown-it';

/** Elements whose content is not text. */
const SILENT = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'svg',
  'head',
  'iframe',
  'object',
  'textarea',
]);
/** Elements that start and end a line. */
const BLOCKS = new Set(
  'address article aside blockquote br dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table td th tr ul'.split(
    ' ',
  ),
);
const ENTITY = /&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});/g;
/** Longer sequences are not treated as tags. */
const MAX_TAG = 8_192;

const { unescapeAll } = new MarkdownIt().utils;

/** Tags in what should be plain text, which show that it was escaped twice. */
const LEFT_OVER = /<\/(?:p|a|div|li|ul|span|strong|em|b|i|h[1-6])>|<br ?\/?>/i;
/** Entities that people rarely type. */
const LEFT_ENTITY = /&(?:amp|quot|apos|nbsp|#39|#x27|#8217|rsquo|lsquo|ldquo|rdquo|hellip|mdash|ndash);/;

/**
 * Converts HTML to plain text in linear time: one line per block, entities decoded, no markup. Text that was
 * escaped twice is unescaped twice.
 */
export function htmlToText(html: string): string {
  const text = toText(html);
  // Escaped markup next to real tags is part of the text; without any tags, the whole text was escaped.
  if (LEFT_OVER.test(text) && !LEFT_OVER.test(html)) return toText(text);
  return LEFT_ENTITY.test(text) ? decodeEntities(text) : text;
}

function toText(html: string): string {
  let text = '';
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open === -1) break;
    text += html.slice(at, open);
    const tag = tagAt(html, open);
    if (tag === null) {
      text += '<'; // as in "a < b"
      at = open + 1;
      continue;
    }
    if (BLOCKS.has(tag.name)) text += '\n';
    at = tag.opens && SILENT.has(tag.name) ? endOf(html, tag) : tag.end;
  }
  return tidy(decodeEntities(text + html.slice(at)));
}

/** Text with HTML's named and numbered entities replaced. */
export function decodeEntities(text: string): string {
  return text.replace(ENTITY, (entity) => unescapeAll(entity));
}

interface Tag {
  name: string;
  opens: boolean;
  /** Where the text continues. */
  end: number;
}

function tagAt(html: string, open: number): Tag | null {
  if (html.startsWith('<!--', open)) return { name: '', opens: false, end: after(html, '-->', open + 4) };
  const next = html[open + 1] ?? '';
  if (next === '!' || next === '?') return { name: '', opens: false, end: after(html, '>', open) };
  const opens = next !== '/';
  const name = /^[a-z][a-z0-9:-]*/i.exec(html.slice(open + (opens ? 1 : 2), open + 40))?.[0];
  if (name === undefined) return null;
  const end = tagEnd(html, open + 1 + name.length);
  return end === -1 ? null : { name: name.toLowerCase(), opens, end };
}

/** The position after the tag's `>`, ignoring those in quoted values; -1 if there is none nearby. */
function tagEnd(html: string, from: number): number {
  let quote = '';
  const until = Math.min(html.length, from + MAX_TAG);
  for (let i = from; i < until; i++) {
    const char = html[i] ?? '';
    if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '>') return i + 1;
    else if (char === '<')
      return -1; // continuing from each of a thousand `<` would take quadratic time
    else if ((char === '"' || char === "'") && html[i - 1] === '=') quote = char;
  }
  return -1;
}

/** The end of an element whose content is not text; the end of the document if it is not closed. */
function endOf(html: string, tag: Tag): number {
  if (html[tag.end - 2] === '/') return tag.end;
  const close = new RegExp(`</${tag.name}\\s*>`, 'gi');
  close.lastIndex = tag.end;
  const found = close.exec(html);
  return found === null ? html.length : found.index + found[0].length;
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found === -1 ? html.length : found + mark.length;
}

/** Removes control characters, and collapses spaces and empty lines. */
function tidy(text: string): string {
  return text
    .replace(/[^\S\n]+/gu, ' ')
    .replace(/[\p{Cc}\p{Cs}]/gu, (char) => (char === '\n' ? char : ''))
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
