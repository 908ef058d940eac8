import { largestOf } from '../lib/lists.ts';
import { printableLine } from '../lib/text.ts';

/** Rows under headings, columns aligned by spaces; ends no line in blanks. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  // A name from before names were checked must not make two rows of one, nor be obeyed by the terminal.
  const lines = [headings, ...rows.map((row) => row.map(printableLine))];
  const widths = headings.map((_, column) => largestOf(lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
