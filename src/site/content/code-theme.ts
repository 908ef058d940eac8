import type { ThemeRegistration } from '@shikijs/primitive';

/** Kinds of code and the scopes of grammars that belong to each, as in shiki's theme of CSS variables; a later line wins. */
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

/** A theme whose "colours" are kinds: a class follows from each, and the style sheet has the colours. */
export const CODE_THEME: ThemeRegistration = {
  name: 'kinds',
  type: 'dark',
  colors: { 'editor.foreground': PLAIN, 'editor.background': PLAIN },
  tokenColors: KINDS.map(([kind, ...scope]) => ({
    scope,
    settings: { foreground: kind === null ? PLAIN : `var(--kind-${kind})` },
  })),
};

/** The kind that a "colour" of the theme stands for; null: none. */
export function kindOf(color: string | undefined): string | null {
  return KIND.exec(color ?? '')?.[1] ?? null;
}
