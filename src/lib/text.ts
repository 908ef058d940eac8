/** Length in Unicode code points, the unit of every text limit and offset. */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * At most `max` code points of `text`, ending in `…` when cut: at a word, or between two characters as people see them
 * where that would cost more than half, as in a long link or a language without spaces.
 */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  // Of a long text no more is read than may be shown.
  const points = Array.from(text.slice(0, 2 * max + 2));
  if (points.length <= max) return text;
  const head = points.slice(0, max - 1).join('');
  if (/\s/u.test(points[max - 1] ?? '')) return `${head.trimEnd()}…`;
  const word = head.slice(0, Math.max(0, head.search(/\s\S*$/u))).trimEnd();
  return `${word.length >= head.length / 2 ? word : atCharacter(text, head).trimEnd()}…`;
}

/** `head` without the part that it holds of a character (an emoji of several code points, an accent) that goes on. */
function atCharacter(text: string, head: string): string {
  // What the character at the cut is made of ends long before that many further units.
  const near = text.slice(0, head.length + 64);
  const start = graphemes.segment(near).containing(head.length)?.index ?? head.length;
  return start > 0 ? text.slice(0, start) : head;
}

/** The longest run of combining marks in Stream-Safe Text (UAX #15, section 12); no language comes near it. */
const MAX_MARKS = 30;
/** Half-width kana sound marks are letters, of which NFKD makes marks. */
const LONG_RUN_OF_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/** Text grows to at most three times its length (Hangul); a ligature may become 18 letters, a text of them 80,000 words. */
const MAX_GROWTH = 4;
const MIN_ROOM = 1_000;

/**
 * `text.normalize(form)` in linear time: normalising sorts each run of combining marks, which takes seconds for a run of
 * 20,000. What a run has beyond 30 is dropped, so the result is for comparing and looking up, never for storing.
 */
export function normalised(text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD'): string {
  const safe = text.length > MAX_MARKS ? text.replace(LONG_RUN_OF_MARKS, '$1') : text;
  const normal = safe.normalize(form);
  const most = Math.max(MIN_ROOM, MAX_GROWTH * safe.length);
  return normal.length > most ? normal.slice(0, most) : normal;
}

/** Lower case without diacritics, for comparisons that people would call equal. */
export function fold(text: string): string {
  return normalised(text, 'NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/**
 * A path or address without the slashes it ends in. Not by a pattern: `/\/+$/` begins anew at every slash of a run, 255 ms for
 * 15,500 of them that end in something else, 4 ms for the 2,000 of an address in a post.
 */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** Text as it stands in HTML, in elements and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Control characters but line ends and tabs: a terminal may obey them. */
const CONTROL = /[^\P{Cc}\n\t]/gu;
const ANY_CONTROL = /\p{Cc}/gu;

/** A text that may hold what others wrote, as a terminal can show it: control characters as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(CONTROL, escapeOf);
}

/** The same on a single line: line breaks are escaped too. */
export function printableLine(text: string): string {
  return text.replace(ANY_CONTROL, escapeOf);
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
