import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { HighlighterCore, ThemedToken } from 'shiki/core';
import type { ContentFault } from './content-error.ts';

/** Grows whenever what is made of the same code changes, so that an older cache is not believed. */
const CACHE_VERSION = 'shiki 4.6.0, classes 1';
const TOKEN_CLASS = /^var\(--t-token-([a-z-]+)\)$/;

/** A piece of code, the language that its block names, and where it stands. */
export interface CodeBlock {
  language: string;
  code: string;
  file: string;
  line: number;
}

/** HTML of a block's code: spans with a class for each kind of token, no inline style (the site's CSP forbids it). */
export type Highlight = (block: Pick<CodeBlock, 'language' | 'code'>) => string;

export interface HighlightOptions {
  blocks: readonly CodeBlock[];
  /** Where results are kept from one start to the next: shiki's grammars cost half a second, and code rarely changes. */
  cacheFile: string | null;
  escapeHtml(text: string): string;
  /** Gets a fault for each block whose language is not known. */
  faults: ContentFault[];
}

/** Highlights all blocks, loading only the languages of those that the cache does not hold. */
export async function highlightAll(options: HighlightOptions): Promise<Highlight> {
  const { blocks, cacheFile, escapeHtml } = options;
  const cached = await readCache(cacheFile);
  const results = new Map<string, string>();
  const missing: CodeBlock[] = [];
  for (const block of blocks) {
    if (isPlain(block.language)) continue;
    const known = cached.get(keyOf(block));
    if (known === undefined) missing.push(block);
    else results.set(keyOf(block), known);
  }
  if (missing.length > 0) {
    await highlightMissing(missing, results, options);
    if (options.faults.length === 0) await writeCache(cacheFile, results);
  }
  return (block) => results.get(keyOf(block)) ?? escapeHtml(block.code);
}

async function highlightMissing(
  blocks: readonly CodeBlock[],
  results: Map<string, string>,
  { escapeHtml, faults }: HighlightOptions,
): Promise<void> {
  const { bundledLanguages } = await import('shiki/langs');
  const known = blocks.filter(({ language }) => Object.hasOwn(bundledLanguages, language));
  for (const { file, line, language } of blocks.filter((block) => !known.includes(block))) {
    const detail = `The language "${language}" of this code is not known; correct it, or write text.`;
    faults.push({ file, line, detail });
  }
  const highlighter = await createHighlighter(new Set(known.map(({ language }) => language)));
  for (const block of known) results.set(keyOf(block), render(highlighter, block, escapeHtml));
  highlighter.dispose();
}

function isPlain(language: string): boolean {
  return language === '' || language === 'text';
}

async function createHighlighter(wanted: ReadonlySet<string>): Promise<HighlighterCore> {
  const [
    { createHighlighterCore, createCssVariablesTheme },
    { createOnigurumaEngine },
    { bundledLanguages },
  ] = await Promise.all([import('shiki/core'), import('shiki/engine/oniguruma'), import('shiki/langs')]);
  return createHighlighterCore({
    // Half the time of shiki's JavaScript engine here (0.46 s against 0.98 s for eight languages).
    engine: createOnigurumaEngine(import('shiki/wasm')),
    themes: [createCssVariablesTheme({ name: 'classes', variablePrefix: '--t-' })],
    langs: Object.entries(bundledLanguages).flatMap(([name, load]) => (wanted.has(name) ? [load] : [])),
  });
}

function render(
  highlighter: HighlighterCore,
  { language, code }: CodeBlock,
  escapeHtml: (text: string) => string,
): string {
  const lines = highlighter.codeToTokensBase(code, { lang: language, theme: 'classes' });
  const span = ({ content, color }: ThemedToken) => {
    const kind = TOKEN_CLASS.exec(color ?? '')?.[1];
    return kind === undefined ? escapeHtml(content) : `<span class="t-${kind}">${escapeHtml(content)}</span>`;
  };
  return lines.map((line) => line.map(span).join('')).join('\n');
}

function keyOf({ language, code }: Pick<CodeBlock, 'language' | 'code'>): string {
  return createHash('sha256').update(`${CACHE_VERSION}\0${language}\0${code}`).digest('base64url');
}

/** A cache that is missing or broken costs time, nothing else. */
async function readCache(file: string | null): Promise<Map<string, string>> {
  try {
    const entries: unknown = JSON.parse(await readFile(file ?? '', 'utf8'));
    return new Map(Object.entries(entries ?? {}).filter(([, html]) => typeof html === 'string'));
  } catch {
    return new Map();
  }
}

async function writeCache(file: string | null, results: ReadonlyMap<string, string>): Promise<void> {
  if (file === null) return;
  try {
    await mkdir(dirname(file), { recursive: true });
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, JSON.stringify(Object.fromEntries(results)));
    await rename(draft, file);
  } catch {
    // A folder that cannot be written means that the next start highlights again.
  }
}
