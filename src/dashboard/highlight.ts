/** A piece of a text, marked where it is evidence. */
export interface Piece {
  text: string;
  marked: boolean;
}

/** Cuts a text where evidence begins and ends; offsets are Unicode code points, and may overlap or stand anywhere. */
export function highlight(text: string, evidence: readonly { start: number; end: number }[]): Piece[] {
  const points = Array.from(text);
  const pieces: Piece[] = [];
  let at = 0;
  for (const { start, end } of [...evidence].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const from = Math.max(at, Math.min(start, points.length));
    const to = Math.min(end, points.length);
    if (to <= from) continue;
    if (from > at) pieces.push({ text: points.slice(at, from).join(''), marked: false });
    pieces.push({ text: points.slice(from, to).join(''), marked: true });
    at = to;
  }
  if (at < points.length) pieces.push({ text: points.slice(at).join(''), marked: false });
  return pieces;
}
