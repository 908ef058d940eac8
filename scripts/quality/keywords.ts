import type { Example } from '../train/data.ts';
import type { Judged } from './scored.ts';

const HOT =
  /looking for|recommend|alternative to|need a|any suggestions|which (?:tool|software|app)|request for proposal/i;
const WARM = /best|vs\.?|switch|pricing|struggling|how do you|anyone use|frustrated|raised|appointed/i;

/** The baseline: the same posts classified by a keyword list that takes ten minutes to write. */
export function byKeywords(examples: readonly Example[]): Judged[] {
  return examples.map((example) => {
    const hot = HOT.test(example.text);
    const warm = WARM.test(example.text);
    const score = hot && warm ? 80 : hot ? 70 : warm ? 40 : 0;
    return {
      example,
      score,
      predicted: score >= 70 ? 'hot' : score >= 40 ? 'warm' : 'cold',
      type: 'intent_post',
    };
  });
}
