import type { Sentence } from './sentences.ts';

const WISH = /^\W*(?:looking|searching|seeking|need|want|struggling|tired|thinking)\b/;
const ANSWER =
  /\b(?:dm|contact|message|visit|check|book|call us|choose ours|we (?:can|help|offer|do|build|are)|our (?:team|agency|app|tool|service|product)|ours|i (?:can|offer)|sign up|look no further|try)\b/;

/** "Looking for a CRM? We can help": a wish put into the reader's mouth. */
export function isRhetorical(sentence: Sentence, next: Sentence | undefined): boolean {
  return sentence.isQuestion && next !== undefined && WISH.test(sentence.text) && ANSWER.test(next.text);
}

const HOOK =
  /^\W*(?:are you |do you |does your \w+ |is your \w+ |still )?(?:looking (?:for|to)|searching for|seeking|in need of|in search of|need|want|struggling (?:with|to)|tired of|thinking (?:of|about)|in the market for)\b/;
const OFFER =
  /^\W*(?:(?:just |simply |then )?(?:dm|contact|message|call|email|text|visit|talk to|reach out to|get in touch with) (?:me|us|our)|(?:then )?(?:check (?:us|it|out)|choose (?:us|ours)|try (?:us|ours|our)|book (?:a|your)|get in touch|reach out|sign up|look no further|click|join us|that's us)\b|(?:we|i) (?:can (?:help|do|build|offer|provide|take|get)|help|offer|build|make|provide|sell|speciali[sz]e)\b|we(?:'re| are) an? |(?:at \w+,? )?our (?:\w+ )?(?:team|agency|app|tool|software|service|product|company|firm|studio|platform|experts|specialists|crew) (?:can|helps?|offers?|does|do|builds?|provides?|will|makes?|delivers?|handles?|saves?|gives?|takes|is (?:here|free|built|made|the))\b)/;

/**
 * Where a seller answers the wish that they put into the reader's mouth: "Are you looking for a CRM? Our agency helps." Null: nowhere.
 * Stricter than {@link isRhetorical}, as it settles who speaks. Pure, linear in the text.
 */
export function pitchIn(sentences: readonly Sentence[]): { start: number; end: number } | null {
  for (const [index, sentence] of sentences.entries()) {
    const next = sentences[index + 1];
    if (!sentence.isQuestion || next === undefined || !HOOK.test(sentence.text)) continue;
    const found = OFFER.exec(next.text);
    if (found === null) continue;
    const lead = found[0].search(/\w/);
    return {
      start: next.start + found.index + lead,
      end: next.start + found.index + found[0].trimEnd().length,
    };
  }
  return null;
}
