import type { IcpProfile } from '../model/icp.ts';

/** Terms that each post is searched for: what plans bound. */
export function phraseCount({ phrases, excludedPhrases, competitors }: IcpProfile): number {
  return phrases.length + excludedPhrases.length + competitors.length;
}
