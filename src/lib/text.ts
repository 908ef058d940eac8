/** Length in Unicode code points, the unit of every text limit and offset. */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * Shortens `text` to at most `max` code points, ending in `…` if it was cut. The cut is at a word boundary,
 * or between two graphemes if the word boundary would cost more than half of the text, as in a long link or a
 * language without spaces.
 */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  // Only as much of a long text is read as may be shown.
  const points = Array.from(text.slice(0, 2 * max + 2));
  if (points.length <= max) return text;
  const head = points.slice(0, max - 1).join('');
  if (/\s/u.test(points[max - 1] ?? '')) return `${head.trimEnd()}…`;
  const word = head.slice(0, Math.max(0, head.search(/\s\S*$/u))).trimEnd();
  return `${word.length >= head.length / 2 ? word : atCharacter(text, head).trimEnd()}…`;
}

/**
 * Removes from the end of `head` the part of a grapheme (an emoji of several code points, an accent) that
 * continues after it.
 */
function atCharacter(text: string, head: string): string {
  // The grapheme at the cut ends well within this many units.
  const near = text.slice(0, head.length + 64);
  const start = graphemes.segment(near).containing(head.length)?.index ?? head.length;
  return start > 0 ? text.slice(0, start) : head;
}

/**
 * The longest run of combining marks in Stream-Safe Text (UAX #15, section 12); no natural language comes
 * close.
 */
const MAX_MARKS = 30;
/** Half-width kana sound marks are letters that NFKD turns into marks. */
const LONG_RUN_OF_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/**
 * Text grows to at most three times its length (Hangul). Without a limit, a ligature can become 18 letters,
 * and a text of ligatures 80,000 words.
 */
const MAX_GROWTH = 4;
const MIN_ROOM = 1_000;

/**
 * `text.normalize(form)` in linear time: normalization sorts each run of combining marks, which takes seconds
 * for a run of 20,000. Marks beyond 30 in a run are dropped, so the result is for comparison and look-up,
 * never for storage.
 */
export function normalised(text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD'): string {
  const safe = text.length > MAX_MARKS ? text.replace(LONG_RUN_OF_MARKS, '$1') : text;
  const normal = safe.normalize(form);
  const most = Math.max(MIN_ROOM, MAX_GROWTH * safe.length);
  return normal.length > most ? normal.slice(0, most) : normal;
}

/** Lower case without diacritics, for comparisons that ignore both. */
export function fold(text: string): string {
  return normalised(text, 'NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/**
 * Removes the trailing slashes of a path or URL. A pattern such as `/\/+$/` restarts at every slash of a run:
 * 255 ms for 15,500 slashes that are not at the end, 4 ms for the 2,000 of a URL in a post.
 */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/**
 * The part of an absolute URL that may name a host, as the URL parser finds it: after the first colon and any slashes,
 * which may be backslashes, missing, or between tabs and line breaks.
 */
const AUTHORITY = /^[^:]*:[\\/\t\n\r]*([^\\/?#]*)/;
/** Names have 253 characters; there may be credentials and a port. */
const MAX_AUTHORITY_CHARS = 512;

/**
 * Parses an absolute URL from outside; null if it is none, or if its host is too long for a name. `URL.parse` takes
 * time proportional to the square of a host's length: 10 ms for 2,000 different characters that are not ASCII.
 */
export function parseUrl(text: string): URL | null {
  const [, authority = ''] = AUTHORITY.exec(text) ?? [];
  return authority.length > MAX_AUTHORITY_CHARS ? null : URL.parse(text);
}

const [PERCENT, PLUS, SPACE] = [0x25, 0x2b, 0x20];

/** The value of a hexadecimal digit; NaN for any other byte. */
function hexOf(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

/**
 * Decodes `%20` and the like, and `+` as a space if `isForm`; invalid UTF-8 becomes U+FFFD. `decodeURIComponent` throws instead, which takes
 * 4 us: half a second for a form of 500 KB of `%ff&`. In place: a string for each of 130,000 escapes took 0.1 s.
 */
export function percentDecoded(text: string, { isForm = false } = {}): string {
  if (!text.includes('%') && !(isForm && text.includes('+'))) return text;
  const bytes = Buffer.from(text);
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i] ?? 0;
    if (byte === PERCENT) {
      const value = hexOf(bytes[i + 1]) * 16 + hexOf(bytes[i + 2]);
      if (!Number.isNaN(value)) {
        byte = value;
        i += 2;
      }
    } else if (byte === PLUS && isForm) byte = SPACE;
    bytes[length++] = byte;
  }
  return bytes.toString('utf8', 0, length);
}

/** Escapes text for HTML elements and quoted attributes. With strings instead of expressions, `replaceAll` takes three times as long for many quotes. */
export function escapeHtml(text: string): string {
  return text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;');
}

/**
 * The lines of a text that arrives in chunks. Of a line longer than `most` characters, at least one more is kept, and
 * the rest dropped: a line may be as long as a file.
 */
export async function* linesOf(chunks: AsyncIterable<string>, most: number): AsyncIterable<string> {
  let line = '';
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', from)) {
      yield line + chunk.slice(from, Math.min(end, from + most + 1));
      line = '';
      from = end + 1;
    }
    if (line.length <= most) line += chunk.slice(from);
  }
  if (line !== '') yield line;
}

/** Control characters other than line feeds and tabs, which a terminal may interpret. */
const CONTROL = /[^\P{Cc}\n\t]/gu;
const ANY_CONTROL = /\p{Cc}/gu;

/** Makes untrusted text safe to print on a terminal: control characters are shown as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(CONTROL, escapeOf);
}

/** Like {@link printable}, on a single line: line breaks are escaped, too. */
export function printableLine(text: string): string {
  return text.replace(ANY_CONTROL, escapeOf);
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
