import type { HighlighterCore } from 'shiki/core';

const TOKEN_CLASS = /^var\(--t-token-([a-z-]+)\)$/;

/** Code, and the language that it says to be in. */
export type TokenizerRequest = { language: string; code: string }[];
/** Text and its kind, null for what has none. */
export type Token = [content: string, kind: string | null];
export type TokenLines = Token[][];
/** The lines of each block in turn; null where its language is not known. */
export type TokenizerAnswer = (TokenLines | null)[];

// A process of its own (see highlight.ts): one request, one answer, and it is done.
process.once('message', async (request: TokenizerRequest) => {
  const answer = await tokenizeAll(request);
  // Who asked may have been killed meanwhile.
  process.send?.(answer, () => {
    if (process.connected) process.disconnect();
  });
});

async function tokenizeAll(blocks: TokenizerRequest): Promise<TokenizerAnswer> {
  const { bundledLanguages } = await import('shiki/langs');
  const isKnown = (language: string) => Object.hasOwn(bundledLanguages, language);
  const highlighter = await createHighlighter(
    new Set(blocks.map(({ language }) => language).filter(isKnown)),
  );
  return blocks.map(({ language, code }) =>
    isKnown(language) ? tokenLines(highlighter, language, code) : null,
  );
}

/** Loads only the languages that are wanted. */
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

function tokenLines(highlighter: HighlighterCore, language: string, code: string): TokenLines {
  // Without its limit of 500 ms a line: on a busy machine a line was left half coloured, and kept so in the cache.
  const options = { lang: language, theme: 'classes', tokenizeTimeLimit: 0 };
  const lines = highlighter.codeToTokensBase(code, options);
  return lines.map((line) =>
    line.map(({ content, color }) => [content, TOKEN_CLASS.exec(color ?? '')?.[1] ?? null]),
  );
}
