import { findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree } from 'jsonc-parser';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { ContentFault, Place } from './content-error.ts';

/** A checked value with the place of any of its members, or every fault with its own. */
type LocatedResult<T> = { ok: true; value: T; placeOf: PlaceOf } | { ok: false; faults: ContentFault[] };

/** Where the member at `path` stands in its file; the nearest one above it where it is not there. */
export type PlaceOf = (path: readonly PropertyKey[]) => Place;

/** Checks what was read from `file`, so that a fault of meaning names its place just as a fault of syntax does. */
function checkLocated<T extends z.ZodType>(
  { value, file, placeOf }: { value: unknown; file: string; placeOf: PlaceOf },
  schema: T,
): LocatedResult<z.output<T>> {
  const checked = schema.safeParse(value);
  if (checked.success) return { ok: true, value: checked.data, placeOf };
  return { ok: false, faults: checked.error.issues.flatMap((issue) => faultsOf(issue, file, placeOf)) };
}

function faultsOf(issue: z.core.$ZodIssue, file: string, placeOf: PlaceOf): ContentFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      file,
      ...placeOf([...issue.path, key]),
      detail: `There is no field "${[...issue.path, key].join('.')}"; remove it or correct its name.`,
    }));
  }
  const name = issue.path.join('.');
  const detail = name === '' ? issue.message : `${name}: ${issue.message}`;
  return [{ file, ...placeOf(issue.path), detail }];
}

/** By the numbers of jsonc-parser's ParseErrorCode, an enum that exists in its types alone. */
const WORDS: Readonly<Record<number, string>> = {
  1: 'this is no value; words stand in double quotes',
  2: 'this is no number',
  3: 'a name in double quotes is missing here; after the last member there is no comma',
  4: 'a value is missing here; after the last one there is no comma',
  5: 'the colon between name and value is missing here',
  6: 'a comma is missing before this',
  7: 'a "}" is missing here',
  8: 'a "]" is missing here',
  9: 'the document has ended before this',
  10: 'JSON has no comments',
  11: 'JSON has no comments',
  12: 'the string that begins here has no end on its line',
  13: 'this number has no end',
  14: 'after \\u four hexadecimal digits are missing',
  15: 'there is no such escape; a backslash itself is \\\\',
  16: 'a string holds no tabs and line breaks; write \\t and \\n',
};

/** Parses and checks a JSON file; only the first syntax error is reported, as those that follow from it mislead. */
export function readJson<T extends z.ZodType>(
  { file, text }: { file: string; text: string },
  schema: T,
): LocatedResult<z.output<T>> {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const placeAt = (offset: number) => placeIn(text, offset);
  const [first] = errors;
  if (first !== undefined || root === undefined) {
    const detail = `Invalid JSON: ${WORDS[first?.error ?? 4] ?? 'this cannot be read'}.`;
    return { ok: false, faults: [{ file, ...placeAt(first?.offset ?? 0), detail }] };
  }
  const twice = twins(root).map((name): ContentFault => {
    const detail = `The field "${String(name.value)}" stands here a second time; remove one.`;
    return { file, ...placeAt(name.offset), detail };
  });
  if (twice.length > 0) return { ok: false, faults: twice };

  const placeOf = (path: readonly PropertyKey[]) => placeAt(offsetOf(root, path));
  return checkLocated({ value: getNodeValue(root), file, placeOf }, schema);
}

/** Of a member of an object, where its name begins. */
function offsetOf(root: Node, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length) as (string | number)[]);
    if (node !== undefined) return node.parent?.type === 'property' ? node.parent.offset : node.offset;
  }
  return root.offset;
}

/** The names that an object has already; JSON lets them pass, and the last one would win in silence. */
function twins(node: Node): Node[] {
  const children = node.children ?? [];
  const names = children.flatMap((child) => (child.type === 'property' ? (child.children?.[0] ?? []) : []));
  const again = names.filter((name, index) => names.findIndex(({ value }) => value === name.value) < index);
  return [...again, ...children.flatMap(twins)];
}

function placeIn(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/** Text to be read as YAML, and where it stands. */
interface YamlSource {
  file: string;
  text: string;
  /** Line of the file that the text begins on, from 1. */
  firstLine: number;
}

/** What the parser's words for the commonest slips leave open. */
const HINTS: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: ' Put a value that holds ": " into quotes.',
};

/** Parses and checks the front matter of a page. */
export function readYaml<T extends z.ZodType>(source: YamlSource, schema: T): LocatedResult<z.output<T>> {
  const { file, firstLine } = source;
  const lines = new LineCounter();
  const document = parseDocument(source.text, { lineCounter: lines });
  const lineAt = (offset: number) => firstLine + lines.linePos(offset).line - 1;
  const syntax = document.errors.map(({ code, pos, message }) => ({
    file,
    line: lineAt(pos[0]),
    detail: `${message.split(/ at line \d+/)[0]}.${HINTS[code] ?? ''}`,
  }));
  if (syntax.length > 0) return { ok: false, faults: syntax };

  const placeOf = (path: readonly PropertyKey[]) => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      if (hasRange(node)) return { line: lineAt(node.range[0]) };
    }
    return { line: firstLine };
  };
  return checkLocated({ value: document.toJS() ?? {}, file, placeOf }, schema);
}

function hasRange(node: unknown): node is { range: [number, number, number] } {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);
}
