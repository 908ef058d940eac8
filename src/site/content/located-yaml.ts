import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { ContentFault } from './content-error.ts';

/** Text to be read as YAML (or JSON, a part of it), and where it stands. */
export interface YamlSource {
  file: string;
  text: string;
  /** Line of the file that the text begins on, from 1. */
  firstLine: number;
}

/** A checked value with the line of any of its members, or every fault with its own line. */
export type LocatedResult<T> =
  | { ok: true; value: T; lineOf(path: readonly PropertyKey[]): number }
  | { ok: false; faults: ContentFault[] };

/** What the parser's words for the commonest slips leave open. */
const HINTS: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: ' Put a value that holds ": " into quotes.',
};

/** Parses and checks in one go, so that a fault of meaning names its line just as a fault of syntax does. */
export function readLocated<T extends z.ZodType>(source: YamlSource, schema: T): LocatedResult<z.output<T>> {
  const { file, firstLine } = source;
  const lines = new LineCounter();
  // Tabs indent JSON, and never stand inside its strings; YAML refuses some of them.
  const document = parseDocument(source.text.replaceAll('\t', ' '), { lineCounter: lines });
  const lineAt = (offset: number) => firstLine + lines.linePos(offset).line - 1;
  const syntax = document.errors.map(({ code, pos, message }) => ({
    file,
    line: lineAt(pos[0]),
    detail: `${message.split(/ at line \d+/)[0]}.${HINTS[code] ?? ''}`,
  }));
  if (syntax.length > 0) return { ok: false, faults: syntax };

  const lineOf = (path: readonly PropertyKey[]): number => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      if (hasRange(node)) return lineAt(node.range[0]);
    }
    return firstLine;
  };
  const checked = schema.safeParse(document.toJS() ?? {});
  if (checked.success) return { ok: true, value: checked.data, lineOf };
  return { ok: false, faults: checked.error.issues.flatMap((issue) => faultsOf(issue, file, lineOf)) };
}

function faultsOf(
  issue: z.core.$ZodIssue,
  file: string,
  lineOf: (path: readonly PropertyKey[]) => number,
): ContentFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      file,
      line: lineOf([...issue.path, key]),
      detail: `There is no field "${[...issue.path, key].join('.')}"; remove it or correct its name.`,
    }));
  }
  const name = issue.path.join('.');
  return [
    { file, line: lineOf(issue.path), detail: name === '' ? issue.message : `${name}: ${issue.message}` },
  ];
}

function hasRange(node: unknown): node is { range: [number, number, number] } {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);
}
