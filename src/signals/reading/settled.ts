import { negatedAt } from './cue.ts';
import type { Sentence } from './sentences.ts';

const CHOSEN =
  /\b(?:decision made|(?:went|gone) (?:ahead )?with|decided (?:to (?:move forward|go|stick) with|on)|settled on|(?:ended|wound) up (?:going with|choosing|buying|using|picking|switching|signing|hiring|moving))\b/;
/** What is only said to close a thread where it stands behind "Edit:". */
const CLOSED =
  /\b(?:solved|resolved|sorted(?: out)?|all set|fixed|never ?mind|found (?:one|it|someone|somebody|what|a \w+|an \w+)|no longer (?:needed|need|looking)|we(?:'ve| have)? (?:picked|chose|chosen|hired|bought|signed))\b/;
/** At the start of a sentence, or behind another one in a title, where full stops part nothing. */
const ADDED = /(?:^|[.!?)]\s)\W*(?:\w+ )?(?:edit(?:ed)?|updated?|eta)\b/;
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
  for (const [index, { text, start, isQuestion }] of sentences.entries()) {
    if (index < last) continue;
    const added = ADDED.exec(text);
    isAdded ||= added !== null;
    if (index === last && (added === null || added.index === 0)) continue;
    if (!isAdded && index < sentences.length - LAST) continue;
    const from = added?.index ?? 0;
    const said = text.slice(from);
    const found = CHOSEN.exec(said) ?? (isAdded ? CLOSED.exec(said) : null);
    if (found === null || isQuestion || negatedAt(said, found.index)) continue;
    const at = start + from + found.index;
    return { start: at, end: at + found[0].length };
  }
  return null;
}
