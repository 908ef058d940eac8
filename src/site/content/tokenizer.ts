import type { LanguageInput } from '@shikijs/primitive';
import { codeToTokensBase, createShikiPrimitiveAsync, type ShikiPrimitive } from '@shikijs/primitive';
import { CODE_THEME, kindOf } from './code-theme.ts';

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
  const names = new Set(blocks.map(({ language }) => grammarOf(language)));
  const grammars = new Map(
    await Promise.all([...names].map(async (name) => [name, await load(name)] as const)),
  );
  const langs = [...grammars.values()].filter((grammar) => grammar !== null);
  const [{ createOnigurumaEngine }, wasm] = await Promise.all([
    import('@shikijs/engine-oniguruma'),
    import('@shikijs/engine-oniguruma/wasm-inlined'),
  ]);
  // Half the time of shiki's JavaScript engine here (0.46 s against 0.98 s for eight languages).
  const engine = createOnigurumaEngine(wasm);
  const shiki = await createShikiPrimitiveAsync({ engine, themes: [CODE_THEME], langs });
  return blocks.map(({ language, code }) => {
    const lang = grammarOf(language);
    return grammars.get(lang) === null ? null : tokenLines(shiki, lang, code);
  });
}

/** Names that no module can have. */
const SYMBOLS: Readonly<Record<string, string>> = { 'c++': 'cpp', 'c#': 'csharp', 'f#': 'fsharp' };

function grammarOf(language: string): string {
  return SYMBOLS[language] ?? language;
}

/** Null: there is no such language. */
async function load(name: string): Promise<LanguageInput | null> {
  if (!/^[\w+-]+$/.test(name)) return null;
  try {
    return (await import(`@shikijs/langs/${name}`)).default;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED')
      return null;
    throw error;
  }
}

function tokenLines(shiki: ShikiPrimitive, lang: string, code: string): TokenLines {
  // Without its limit of 500 ms a line: on a busy machine a line was left half coloured, and kept so in the cache.
  const lines = codeToTokensBase(shiki, code, { lang, theme: CODE_THEME.name ?? '', tokenizeTimeLimit: 0 });
  return lines.map((line) => line.map(({ content, color }) => [content, kindOf(color)]));
}
