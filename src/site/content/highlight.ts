import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../lib/folders.ts';
import { moduleBeside } from '../../lib/package.ts';
import type { Token, TokenizerAnswer, TokenizerRequest, TokenLines } from './highlight-process.ts';
import type { ContentFault } from './page-file.ts';

/** Increased whenever the output for the same code changes, so that older caches are ignored. */
const CACHE_VERSION = 'shiki 4.6.0, classes 2';

/** A code block with its language and position. */
export interface CodeBlock {
  language: string;
  code: string;
  file: string;
  line: number;
}

/** The HTML of a code block: spans with a class for each kind of token, without inline styles (the CSP forbids them). */
export type Highlight = (block: Pick<CodeBlock, 'language' | 'code'>) => string;

export interface HighlightOptions {
  blocks: readonly CodeBlock[];
  /** Where results are cached between starts: shiki's grammars cost half a second, and code rarely changes. */
  cacheFile: string | null;
  escapeHtml(text: string): string;
  /** Receives an error for each block with an unknown language. */
  faults: ContentFault[];
}

/** Highlights all blocks. If the cache contains all of them, shiki is not loaded. */
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
  const tokens = await tokenize(blocks.map(({ language, code }) => ({ language, code })));
  for (const [index, block] of blocks.entries()) {
    const lines = tokens[index] ?? null;
    if (lines !== null) {
      results.set(keyOf(block), render(lines, escapeHtml));
      continue;
    }
    const { file, line, language } = block;
    const detail = `The language "${language}" of this code block is unknown; correct it, or use "text".`;
    faults.push({ file, line, detail });
  }
}

/**
 * In a separate process: shiki and its grammars take 80 MiB, which a server would never release. The environment is not passed on,
 * since the process does not need it.
 */
function tokenize(blocks: TokenizerRequest): Promise<TokenizerAnswer> {
  const tokenizer = fork(moduleBeside(import.meta.url, './highlight-process'), { execArgv: [], env: {} });
  return new Promise((resolve, reject) => {
    tokenizer.once('message', (answer) => resolve(answer as TokenizerAnswer));
    tokenizer.on('error', reject); // if it cannot be started, send() fails as well
    tokenizer.once('exit', (code, signal) => {
      reject(
        new Error(`The process that highlights the pages' code ended early (${signal ?? `code ${code}`}).`),
      );
    });
    tokenizer.send(blocks);
  });
}

function isPlain(language: string): boolean {
  return language === '' || language === 'text';
}

function render(lines: TokenLines, escapeHtml: (text: string) => string): string {
  const span = ([content, kind]: Token) =>
    kind === null ? escapeHtml(content) : `<span class="t-${kind}">${escapeHtml(content)}</span>`;
  return lines.map((line) => line.map(span).join('')).join('\n');
}

function keyOf({ language, code }: Pick<CodeBlock, 'language' | 'code'>): string {
  return createHash('sha256').update(`${CACHE_VERSION}\0${language}\0${code}`).digest('base64url');
}

/** A missing or damaged cache only costs time. */
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
    makeFolder(dirname(file), 0o700);
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, JSON.stringify(Object.fromEntries(results)), { mode: 0o600 });
    await rename(draft, file);
  } catch {
    // If the folder is not writable, the next start highlights again.
  }
}
