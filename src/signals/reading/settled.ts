import type { Sentence } from './sentences.ts';

const CHOSEN =
  /\b(?:decision made|(?:went|gone) (?:ahead )?with|decided (?:to (?:move forward|go|stick) with|on)|settled on|(?:ended|wound) up (?:going with|choosing|buying|using|picking|switching|signing|hiring|moving))\b/;
const ADDED = /^\W*(?:\w+ )?(?:edit(?:ed)?|updated?|eta)\b/;
/** What was found after all stands at the end, or behind "Edit:". */
const LAST = 3;

/**
 * "Which host is good? ... Edit: went with X": where it is told, after all that is asked, that something was chosen. Null: nowhere,
 * or nothing was asked. Pure, linear in the text.
 */
export function settledAfter(
  sentences: readonly Sentence[],
  asks: readonly boolean[],
): { start: number; end: number } | null {
  const last = asks.lastIndexOf(true);
  if (last === -1) return null;
  let isAdded = false;
  for (const [index, sentence] of sentences.entries()) {
    if (index <= last) continue;
    isAdded ||= ADDED.test(sentence.text);
    if (!isAdded && index < sentences.length - LAST) continue;
    const found = CHOSEN.exec(sentence.text);
    if (found === null || sentence.isQuestion) continue;
    const start = sentence.start + found.index;
    return { start, end: start + found[0].length };
  }
  return null;
}
