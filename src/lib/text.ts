/** Length in Unicode code points, the unit of every text limit and offset. */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** At most `max` code points of `text`, cut at a word and ending in `…` when cut. */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  const points = Array.from(text);
  if (points.length <= max) return text;
  const head = points.slice(0, max - 1).join('');
  const endsAtWord = /\s/u.test(points[max - 1] ?? '');
  const lastSpace = head.search(/\s\S*$/u);
  const cut = endsAtWord || lastSpace <= 0 ? head : head.slice(0, lastSpace);
  return `${cut.trimEnd()}…`;
}

/** Lower case without diacritics, for comparisons that people would call equal. */
export function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}
