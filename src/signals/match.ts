import { codePointLength } from '../lib/text.ts';
import type { Evidence } from '../model/signal.ts';
import type { Cue, CueGroup } from './lexicon.ts';

/** The strongest cue of `group` in `text`, with where it stands; null where none does. */
export function bestCue(group: CueGroup, text: string): { points: number; evidence: Evidence } | null {
  let best: { cue: Cue; match: RegExpMatchArray } | null = null;
  for (const cue of group.cues) {
    if (best !== null && cue.points <= best.cue.points) continue;
    const match = first(cue.pattern, text);
    if (match !== null) best = { cue, match };
  }
  return best && { points: best.cue.points, evidence: evidenceOf(text, best.match) };
}

/** A pattern for a phrase as people write it: any case, any white space, whole words only; null for no letters at all. */
export function phrasePattern(phrase: string): RegExp | null {
  const words = phrase
    .trim()
    .split(/\s+/u)
    .filter((word) => word !== '');
  if (words.length === 0) return null;
  const body = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&')).join('\\s+');
  // Not \b: it fails beside "Act!" or "C++", where the phrase itself ends in punctuation.
  return new RegExp(`(?<![\\p{L}\\p{N}])${body}(?![\\p{L}\\p{N}])`, 'giu');
}

/** Evidence of every pattern that occurs in `text`, one each, in text order, at most `max`. */
export function findAll(patterns: readonly RegExp[], text: string, max: number): Evidence[] {
  return patterns
    .flatMap((pattern) => {
      const match = first(pattern, text);
      return match === null ? [] : [match];
    })
    .sort((a, b) => (a.index ?? 0) - (b.index ?? 0))
    .slice(0, max)
    .map((match) => evidenceOf(text, match));
}

function first(pattern: RegExp, text: string): RegExpMatchArray | null {
  for (const match of text.matchAll(pattern)) return match;
  return null;
}

/** Offsets count Unicode code points, since that is what a client's own cut of the text will count. */
function evidenceOf(text: string, match: RegExpMatchArray): Evidence {
  const start = codePointLength(text.slice(0, match.index ?? 0));
  return { field: 'text', start, end: start + codePointLength(match[0]), text: match[0] };
}
