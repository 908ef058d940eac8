/** A range of text to remove as markup, and its replacement. */
export interface Cut {
  start: number;
  end: number;
  instead: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
  '&#x200b;': '',
};

/**
 * Each alternative is bounded and starts with its own delimiter, so even a text of nothing but delimiters
 * takes linear time. The capture groups are kept.
 */
const MARKS = [
  // [label](address "title"), ![alt](address)
  /!?\[([^\][\n]{1,300})\]\((?:https?:|\/|#|mailto:)[^\s()]{0,1000}(?:\([^\s()]{0,200}\)[^\s()]{0,200})?(?: "[^"\n]{0,200}")?\)/g,
  // Headings, quotes, fences and rules at the start of a line.
  /^[ \t]{0,3}(?:#{1,6}[ \t]+|(?:>[ \t]?){1,6}|`{3,}[\w-]{0,20}$|(?:[-*_][ \t]?){3,40}$)/gm,
  // List markers written as an asterisk or a plus sign.
  /^[ \t]{0,8}[*+](?=[ \t]\S)/gm,
  /(?<![\w\\*])\*{1,3}(?=[^\s*])([^*\n]{1,400}?)(?<=[^\s*\\])\*{1,3}(?![\w*])/g,
  /(?<![\w\\_])_{1,3}(?=[^\s_])([^_\n]{1,400}?)(?<=[^\s_\\])_{1,3}(?![\w_])/g,
  /(?<![\w~])~~(?=\S)([^~\n]{1,400}?)(?<=\S)~~(?![\w~])/g,
  /`([^`\n]{1,400})`/g,
  /\\(?=[\\`*_{}[\]()#+\-.!~>|&])/g,
  /&(?:amp|lt|gt|quot|#39|nbsp|#x200b);/gi,
  /\u200b/g,
] as const;
const LIST_MARK = 2;

/**
 * Finds the markup in a post written in Markdown. The markup is not rendered, and links keep only their
 * labels.
 */
export function markdownCuts(text: string): Cut[] {
  const cuts: Cut[] = [];
  for (const [index, pattern] of MARKS.entries()) {
    for (const found of text.matchAll(pattern)) {
      const [whole, kept] = found;
      const end = found.index + whole.length;
      if (kept === undefined) {
        const instead = index === LIST_MARK ? '•' : (ENTITIES[whole.toLowerCase()] ?? '');
        cuts.push({ start: found.index, end, instead });
        continue;
      }
      const keptAt = found.index + whole.indexOf(kept);
      cuts.push({ start: found.index, end: keptAt, instead: '' });
      cuts.push({ start: keptAt + kept.length, end, instead: '' });
    }
  }
  return withoutOverlaps(cuts);
}

/** A text without its markup. */
export function plainText(text: string): string {
  return cutText(text, markdownCuts(text), { start: 0, end: text.length });
}

/** The part of a text from `start` to `end` (UTF-16 units), without its cuts. */
export function cutText(
  text: string,
  cuts: readonly Cut[],
  { start, end }: { start: number; end: number },
): string {
  let shown = '';
  let at = start;
  for (const cut of cuts) {
    if (cut.end <= at) continue;
    if (cut.start >= end) break;
    if (cut.start > at) shown += text.slice(at, cut.start);
    if (cut.start >= start) shown += cut.instead;
    at = Math.min(end, cut.end);
  }
  return shown + text.slice(at, end);
}

function withoutOverlaps(cuts: Cut[]): Cut[] {
  let last = 0;
  return cuts
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .filter(({ start, end }) => {
      if (start < last || start === end) return false;
      last = end;
      return true;
    });
}
