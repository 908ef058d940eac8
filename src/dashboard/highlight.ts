import { cutText, markdownCuts } from '../lib/markdown-text.ts';

/** A piece of a text, marked where it is evidence. */
export interface Piece {
  text: string;
  marked: boolean;
}

/**
 * Cuts a text where evidence begins and ends, and leaves out its mark-up. Offsets are Unicode code points, and may overlap or
 * stand anywhere.
 */
export function highlight(text: string, evidence: readonly { start: number; end: number }[]): Piece[] {
  const units = unitsOf(text);
  const last = units.length - 1;
  const unitAt = (point: number) => units[Math.min(point, last)] ?? text.length;
  const cuts = markdownCuts(text);
  const pieces: Piece[] = [];
  let at = 0;
  const add = (end: number, marked: boolean) => {
    const shown = cutText(text, cuts, { start: at, end });
    if (shown !== '') pieces.push({ text: shown, marked });
    at = end;
  };
  for (const { start, end } of [...evidence].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const from = Math.max(at, unitAt(start));
    const to = unitAt(end);
    if (to <= from) continue;
    if (from > at) add(from, false);
    add(to, true);
  }
  if (at < text.length) add(text.length, false);
  return pieces;
}

/** Where each code point begins, and where the last one ends. */
function unitsOf(text: string): number[] {
  const units: number[] = [];
  let at = 0;
  for (const point of text) {
    units.push(at);
    at += point.length;
  }
  units.push(at);
  return units;
}
