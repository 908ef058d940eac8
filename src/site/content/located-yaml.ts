import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { checkLocated, type LocatedResult } from './located.ts';

/** Text to be read as YAML, and where it stands. */
export interface YamlSource {
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
