import {
  codeToTokensBase,
  createShikiPrimitiveAsync,
  type LanguageInput,
  type ShikiPrimitive,
  type ThemeRegistration,
} from '@shikijs/primitive';

/** Token kinds and their grammar scopes, as in shiki's theme of CSS variables; later lines take precedence. */
const KINDS: readonly (readonly [kind: string | null, ...scopes: string[]])[] = [
  [null, 'keyword.operator.accessor', 'meta.group.braces.round.function.arguments'],
  [null, 'meta.template.expression', 'markup.fenced_code meta.embedded.block'],
  ['link', 'meta.link.inline.markdown'],
  ['string', 'string', 'markup.fenced_code', 'markup.inline'],
  ['comment', 'comment', 'string.quoted.docstring.multi'],
  ['constant', 'constant.numeric', 'constant.language', 'constant.other.placeholder'],
  ['constant', 'constant.character.format.placeholder', 'variable.language.this', 'variable.other.object'],
  ['constant', 'variable.other.class', 'variable.other.constant', 'meta.property-name'],
  ['constant', 'meta.property-value', 'support'],
  ['keyword', 'keyword', 'storage.modifier', 'storage.type', 'storage.control.clojure'],
  ['keyword', 'entity.name.function.clojure', 'entity.name.tag.yaml', 'support.function.node'],
  ['keyword', 'support.type.property-name.json', 'punctuation.separator.key-value'],
  ['keyword', 'punctuation.definition.template-expression'],
  ['parameter', 'variable.parameter.function'],
  ['function', 'support.function', 'entity.name.type', 'entity.other.inherited-class', 'meta.function-call'],
  ['function', 'meta.instance.constructor', 'entity.other.attribute-name', 'entity.name.function'],
  ['function', 'constant.keyword.clojure'],
  ['string-expression', 'entity.name.tag', 'string.quoted', 'string.regexp', 'string.interpolated'],
  ['string-expression', 'string.template', 'string.unquoted.plain.out.yaml', 'keyword.other.template'],
  ['punctuation', 'punctuation.definition.arguments', 'punctuation.definition.dict'],
  ['punctuation', 'punctuation.separator', 'meta.function-call.arguments'],
  ['link', 'markup.underline.link', 'punctuation.definition.metadata.markdown'],
  ['string', 'beginning.punctuation.definition.list.markdown'],
  ['keyword', 'punctuation.definition.string.begin.markdown', 'punctuation.definition.string.end.markdown'],
  ['keyword', 'string.other.link.title.markdown', 'string.other.link.description.markdown'],
  ['inserted', 'markup.inserted', 'meta.diff.header.to-file', 'punctuation.definition.inserted'],
  ['deleted', 'markup.deleted', 'meta.diff.header.from-file', 'punctuation.definition.deleted'],
  ['changed', 'markup.changed', 'punctuation.definition.changed'],
];

const PLAIN = 'var(--plain)';
const KIND = /^var\(--kind-([a-z-]+)\)$/;

/** A theme whose "colours" are token kinds: each becomes a class, whose colour the stylesheet defines. */
const CODE_THEME: ThemeRegistration = {
  name: 'kinds',
  type: 'dark',
  colors: { 'editor.foreground': PLAIN, 'editor.background': PLAIN },
  tokenColors: KINDS.map(([kind, ...scope]) => ({
    scope,
    settings: { foreground: kind === null ? PLAIN : `var(--kind-${kind})` },
  })),
};

/** The kind encoded in a "colour" of the theme; null for none. */
function kindOf(color: string | undefined): string | null {
  return KIND.exec(color ?? '')?.[1] ?? null;
}

/** Code blocks with their declared languages. */
export type TokenizerRequest = { language: string; code: string }[];
/** Text with its kind, or null. */
export type Token = [content: string, kind: string | null];
export type TokenLines = Token[][];
/** The lines of each block, in order; null if its language is unknown. */
export type TokenizerAnswer = (TokenLines | null)[];

// A separate process (see highlight.ts): one request, one response, then it exits.
process.once('message', async (request: TokenizerRequest) => {
  const answer = await tokenizeAll(request);
  // The parent process may have been killed in the meantime.
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

/** Null if the language is unknown. */
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
  // No time limit per line: with the default of 500 ms, a busy machine left a line half coloured, and the cache kept
  // it.
  const lines = codeToTokensBase(shiki, code, { lang, theme: CODE_THEME.name ?? '', tokenizeTimeLimit: 0 });
  return lines.map((line) => line.map(({ content, color }) => [content, kindOf(color)]));
}
