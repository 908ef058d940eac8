import type { Token } from 'markdown-it';

const CODE_SPAN = /(`+)(?!`).*?[^`]\1(?!`)/g;
/** `](/path` of a link or an image, and `[name]: /path` of a definition. */
const INLINE_TARGET = /(\]\(<?)(\/(?!\/)|#)/g;
const DEFINITION_TARGET = /^( {0,3}\[[^\]]+\]:[ \t]+<?)(\/(?!\/)|#)/;

/**
 * `markdown` with every link of this site made absolute, so that it still holds where the text was copied to. Code is
 * left as it is. markdown-it keeps no offsets of links, hence the search in the source.
 */
export function absoluteLinks(
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
