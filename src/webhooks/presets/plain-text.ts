import { excerpt } from '../../lib/text.ts';

/** On one line, without control characters: what services show of a title. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\s]+/gu, ' ').trim();
}

interface Fitting {
  max: number;
  /** What the service's markup needs; it may make the text longer. */
  escape?: (text: string) => string;
  /** Characters as the service counts them; UTF-16 units where it does not say. */
  length?: (text: string) => number;
}

/** As much of `text` as, escaped, is at most `max` long; cut at a word and never within an escape. */
export function cutTo(
  text: string,
  { max, escape: escaped = (t) => t, length = (t) => t.length }: Fitting,
): string {
  let points = max;
  for (;;) {
    const made = escaped(excerpt(text, points));
    const size = length(made);
    if (size <= max || points <= 1) return made;
    points = Math.max(1, Math.min(points - 1, Math.floor((points * max) / size)));
  }
}

/** Whether a service would take it for a link. */
export function isWebUrl(url: string): boolean {
  return url !== '' && /^https?:\/\//i.test(url) && URL.canParse(url);
}
