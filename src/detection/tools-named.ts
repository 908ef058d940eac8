import { readWordTable, wordsSchema } from '../lib/word-table.ts';

/** Products that companies name in job posts, in their makers' spelling: in lower case many are everyday words. */
const TOOLS = readWordTable('tools', wordsSchema);

const MAX_TOOLS = 10;

// Longest first, so that "Microsoft Teams" wins over "Teams".
const NAMES = [...TOOLS].sort((a, b) => b.length - a.length).map((name) => name.replaceAll('.', '\\.'));
const PATTERN = new RegExp(`(?<![\\p{L}\\p{N}])(?:${NAMES.join('|')})(?![\\p{L}\\p{N}])`, 'gu');

/** The first tools that a job post names, each once, in its order. */
export function toolsNamed(text: string): string[] {
  const found = new Set<string>();
  for (const [name] of text.matchAll(PATTERN)) {
    found.add(name);
    if (found.size === MAX_TOOLS) break;
  }
  return [...found];
}
