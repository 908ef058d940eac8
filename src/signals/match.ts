import { codePointLength } from '../lib/text.ts';
import type { Evidence } from '../model/signal.ts';
import type { Cue, CueGroup } from './lexicon.ts';

/** The strongest cue of `group` in `text`, with where it stands; null where none does. */
export function bestCue(group: CueGroup, text: string): { points: number; evidence: Evidence } | null {
  let best: { cue: Cue; match: RegExpExecArray } | null = null;
  for (const cue of group.cues) {
    if (best !== null && cue.points <= best.cue.points) continue;
    const match = cue.pattern.exec(text);
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
  return new RegExp(`(?<![\\p{L}\\p{N}])${body}(?![\\p{L}\\p{N}])`, 'iu');
}

/** Evidence of every pattern that occurs in `text`, one each, in text order, at most `max`. */
export function findAll(patterns: readonly RegExp[], text: string, max: number): Evidence[] {
  return patterns
    .flatMap((pattern) => {
      const match = pattern.exec(text);
      return match === null ? [] : [match];
    })
    .sort((a, b) => a.index - b.index)
    .slice(0, max)
    .map((match) => evidenceOf(text, match));
}

/** Offsets count Unicode code points, since that is what a client's own cut of the text will count. */
function evidenceOf(text: string, match: RegExpExecArray): Evidence {
  const start = codePointLength(text.slice(0, match.index));
  return { field: 'text', start, end: start + codePointLength(match[0]), text: match[0] };
}
