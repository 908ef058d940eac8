import type { MarkdownIt, RendererRule, Token } from 'markdown-it';
import type { NamedAsset } from './assets.ts';
import type { Highlight } from './highlight.ts';
import { fenceLanguage, fenceTitle, plainText } from './markdown.ts';

/** What a page's body needs to be rendered, beside its tokens. */
export interface BodyParts {
  highlight: Highlight;
  assets: ReadonlyMap<string, NamedAsset>;
}

/** Renders tokens to the HTML inside `<main>`. */
export type RenderBody = (tokens: Token[]) => string;

/** Teaches `markdown` the site's own code blocks, tables and images. */
export function createBodyRenderer(markdown: MarkdownIt, { highlight, assets }: BodyParts): RenderBody {
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
