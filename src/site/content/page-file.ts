import { glob, readFile, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree } from 'jsonc-parser';
import { LineCounter, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import { addAll } from '../../lib/lists.ts';

/** Maximum characters of a page's front matter: the YAML parser compares each name with all names before it. */
const MOST_FRONT_MATTER = 16_000;
/** Maximum characters of `site.json`: positions of its members are found by a search from its beginning. */
const MOST_JSON = 100_000;

/** The front matter of a page file. */
const frontMatterSchema = z.strictObject({
  title: z
    .string()
    .trim()
    .min(1)
    .max(60, 'must have at most 60 characters, because search results truncate it'),
  /** Its name in menus and lists, if the title is too long for them. */
  label: z.string().trim().min(1).max(30).optional(),
  description: z
    .string()
    .trim()
    .min(50, 'must have 50 to 160 characters, as search results show it')
    .max(160, 'must have 50 to 160 characters, as search results show it'),
  section: z.string().default('Pages'),
  /** Position within its section; pages with the same position are sorted by path. */
  order: z.number().default(100),
  updated: z.iso.date('must be a date such as 2026-11-20').optional(),
  layout: z.enum(['article', 'landing', 'reference']).default('article'),
  path: z
    .string()
    .regex(
      /^\/([a-z0-9-]+(\/[a-z0-9-]+)*)?$/,
      'must be lower case words between slashes, such as "/our-work"',
    )
    .optional(),
});
export type FrontMatter = z.output<typeof frontMatterSchema>;

/** A page file: front matter and Markdown, with the first line of the Markdown. */
export interface PageFile {
  file: string;
  path: string;
  front: FrontMatter;
  placeOf: PositionOf;
  body: string;
  bodyLine: number;
  /** Unix milliseconds: `updated` if the page states it, otherwise when the file was written. */
  lastModified: number;
}

/**
 * All page files under `contentDir`, and the paths of those whose front matter is invalid. Errors are collected in `faults`, so
 * that all are reported at once.
 */
export async function readPageFiles(
  contentDir: string,
  faults: ContentFault[],
): Promise<{ files: PageFile[]; unread: string[] }> {
  const names: string[] = [];
  for await (const name of glob('**/*.md', { cwd: contentDir })) names.push(name);
  const pages = await Promise.all(names.sort().map((name) => readPageFile(contentDir, name, faults)));
  return {
    files: pages.filter((page) => page !== null),
    unread: names.filter((_, i) => pages[i] === null).map(pathOf),
  };
}

async function readPageFile(
  contentDir: string,
  name: string,
  faults: ContentFault[],
): Promise<PageFile | null> {
  const file = join(contentDir, name);
  const source = (await readFile(file, 'utf8')).replaceAll('\r\n', '\n').replace(/^\uFEFF/, '');
  const head = /^---\n(.*?)^---[ ]*(?:\n|$)/ms.exec(source);
  if (head === null || head.index !== 0) {
    const detail = 'It must begin with front matter: a line "---", title and description, a line "---".';
    faults.push({ file, line: 1, detail });
    return null;
  }
  const result = readYaml({ file, text: head[1] ?? '', firstLine: 2 }, frontMatterSchema);
  if (!result.ok) {
    addAll(faults, result.faults);
    return null;
  }
  const front = result.value;
  const lastModified =
    front.updated === undefined
      ? Math.trunc((await stat(file)).mtimeMs)
      : Date.parse(`${front.updated}T00:00:00Z`);
  return {
    file,
    path: front.path ?? pathOf(name),
    front,
    placeOf: result.placeOf,
    body: source.slice(head[0].length),
    bodyLine: head[0].split('\n').length,
    lastModified,
  };
}

/** `index.md` is the page of its folder: `developers/index.md` is `/developers`. */
function pathOf(name: string): string {
  const path = `/${name.split(sep).join('/').replace(/\.md$/, '')}`;
  return path === '/index' ? '/' : path.replace(/\/index$/, '');
}

/** A valid value with the positions of its members, or all errors with theirs. */
type LocatedResult<T> = { ok: true; value: T; placeOf: PositionOf } | { ok: false; faults: ContentFault[] };

/** The position of the member at `path` in its file; if it is missing, that of the nearest parent. */
export type PositionOf = (path: readonly PropertyKey[]) => FilePosition;

/** Validates a parsed file, so that semantic errors have positions like syntax errors. */
function checkLocated<T extends z.ZodType>(
  { value, file, placeOf }: { value: unknown; file: string; placeOf: PositionOf },
  schema: T,
): LocatedResult<z.output<T>> {
  const checked = schema.safeParse(value);
  if (checked.success) return { ok: true, value: checked.data, placeOf };
  return { ok: false, faults: checked.error.issues.flatMap((issue) => faultsOf(issue, file, placeOf)) };
}

function faultsOf(issue: z.core.$ZodIssue, file: string, placeOf: PositionOf): ContentFault[] {
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

/** By the numbers of jsonc-parser's ParseErrorCode, an enum that exists only as a type. */
const WORDS: Readonly<Record<number, string>> = {
  1: 'this is not a value; strings need double quotes',
  2: 'this is not a number',
  3: 'a name in double quotes is expected here; the last member has no comma after it',
  4: 'a value is expected here; the last one has no comma after it',
  5: 'the colon between name and value is missing here',
  6: 'a comma is missing before this',
  7: 'a "}" is missing here',
  8: 'a "]" is missing here',
  9: 'unexpected content after the end of the document',
  10: 'JSON has no comments',
  11: 'JSON has no comments',
  12: 'the string that starts here does not end on this line',
  13: 'this number is incomplete',
  14: '\\u must be followed by four hexadecimal digits',
  15: 'unknown escape sequence; write a backslash as \\\\',
  16: 'a string cannot contain tabs or line breaks; write \\t and \\n',
};

/** Parses and validates a JSON file; only the first syntax error is reported, because later ones are misleading. */
export function readJson<T extends z.ZodType>(
  { file, text }: { file: string; text: string },
  schema: T,
): LocatedResult<z.output<T>> {
  const lines = linesOf(text);
  const placeAt = (offset: number): FilePosition => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  if (text.length > MOST_JSON) {
    const detail = `It has ${text.length} characters; it can have at most ${MOST_JSON}.`;
    return { ok: false, faults: [{ file, ...placeAt(MOST_JSON), detail }] };
  }
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  if (first !== undefined || root === undefined) {
    const detail = `Invalid JSON: ${WORDS[first?.error ?? 4] ?? 'this cannot be parsed'}.`;
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

/** For a member of an object, the start of its name. */
function offsetOf(root: Node, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length) as (string | number)[]);
    if (node !== undefined) return node.parent?.type === 'property' ? node.parent.offset : node.offset;
  }
  return root.offset;
}

/** Duplicate names in an object, which JSON permits; the last one would win silently. */
function twins(node: Node): Node[] {
  const children = node.children ?? [];
  const names = children.flatMap((child) => (child.type === 'property' ? (child.children?.[0] ?? []) : []));
  const seen = new Set<unknown>();
  const again = names.filter(({ value }) => {
    if (seen.has(value)) return true;
    seen.add(value);
    return false;
  });
  return [...again, ...children.flatMap(twins)];
}

/** The lines of `text`, from which its positions follow. */
export function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  for (let start = 0; ; ) {
    lines.addNewLine(start);
    start = text.indexOf('\n', start) + 1;
    if (start === 0) return lines;
  }
}

/** YAML text and its position. */
interface YamlSource {
  file: string;
  text: string;
  /** First line of the text in the file, from 1. */
  firstLine: number;
}

/** Hints that the parser's messages for common mistakes lack. */
const HINTS: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: ' Put a value that holds ": " into quotes.',
};

/** Parses and validates the front matter of a page. */
function readYaml<T extends z.ZodType>(source: YamlSource, schema: T): LocatedResult<z.output<T>> {
  const { file, firstLine, text } = source;
  const lines = linesOf(text);
  const lineAt = (offset: number) => firstLine + lines.linePos(offset).line - 1;
  if (text.length > MOST_FRONT_MATTER) {
    const detail = `The front matter has ${text.length} characters; it can have at most ${MOST_FRONT_MATTER}.`;
    return { ok: false, faults: [{ file, line: lineAt(MOST_FRONT_MATTER), detail }] };
  }
  const document = parseDocument(text);
  const syntax = document.errors.map(({ code, pos, message }) => ({
    file,
    line: lineAt(pos[0]),
    detail: `${message.split(/ at line \d+/)[0]}.${HINTS[code] ?? ''}`,
  }));
  if (syntax.length > 0) return { ok: false, faults: syntax };

  // References to other values: an unknown one has no value, and a few levels of them have millions.
  const references: ContentFault[] = [];
  visit(document, {
    Alias(_key, { range, source: name }) {
      const detail = `Put "*${name}" into quotes: YAML takes it for a reference to another value.`;
      references.push({ file, line: lineAt(range?.[0] ?? 0), detail });
    },
  });
  if (references.length > 0) return { ok: false, faults: references };

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

/** A position in a file, from 1; the column if it is known. */
interface FilePosition {
  line: number;
  column?: number;
}

/** An error in the content: position, problem and solution. */
export interface ContentFault extends FilePosition {
  file: string;
  detail: string;
}

/** All errors in the content, with file and line; nothing is served while there are any. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
  readonly faults: readonly ContentFault[];
  constructor(faults: readonly ContentFault[]) {
    const lines = faults.map(({ file, line, column, detail }) =>
      [file, line, ...(column === undefined ? [] : [column]), ` ${detail}`].join(':'),
    );
    super(
      lines.length === 1
        ? `The site's content has a fault.\n  ${lines[0]}`
        : `The site's content has ${lines.length} faults.\n  ${lines.join('\n  ')}`,
    );
    this.faults = faults;
  }
}
