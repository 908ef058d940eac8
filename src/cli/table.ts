import { largestOf } from '../lib/lists.ts';
/** Rows under headings, columns aligned by spaces; ends no line in blanks. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => largestOf(lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
