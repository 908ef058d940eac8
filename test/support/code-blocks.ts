import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A fenced block of a page of `content/`. */
export interface CodeBlock {
  language: string;
  /** The file name after the language, or empty. */
  name: string;
  code: string;
}

/** The fenced code blocks of a page of the starter site, as a reader would copy them. */
export function codeBlocks(page: string): CodeBlock[] {
  const file = fileURLToPath(new URL(`../../content/${page}`, import.meta.url));
  const fences = readFileSync(file, 'utf8').matchAll(/^```(\S*) ?(\S*)\n(.*?)^```$/gms);
  return [...fences].map(([, language = '', name = '', code = '']) => ({ language, name, code }));
}
