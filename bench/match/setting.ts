import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import type { ScoredPost } from '../../src/signals/score.ts';
import { createPosts, seededRandom, wordOf } from '../signals/posts.ts';

const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };
const PHRASES_A_PROFILE = 20;
/** Phrases consist of words of medium frequency, like names of goods and trades. */
const [COMMONEST, RAREST] = [200, 8_000];

/** Profiles of twenty phrases of two or three words, all different. */
export function makeProfiles(count: number): IcpProfile[] {
  const random = seededRandom(7);
  const word = () => wordOf(COMMONEST + Math.floor(random() * (RAREST - COMMONEST)));
  const phrase = () => Array.from({ length: random() < 0.5 ? 2 : 3 }, word).join(' ');
  return Array.from({ length: count }, (_, i) => ({
    ...defaultProfile(`icp_${i}`, 'ten_1', 0),
    name: `Profile ${i}`,
    phrases: Array.from({ length: PHRASES_A_PROFILE }, phrase),
  }));
}

/** Posts that each contain a phrase of one of the profiles. */
export function makePosts(count: number, profiles: readonly IcpProfile[]): ScoredPost[] {
  const random = seededRandom(11);
  const makePost = createPosts(3);
  return Array.from({ length: count }, (_, n) => {
    const phrases = profiles[Math.floor(random() * profiles.length)]?.phrases ?? [];
    const phrase = phrases[Math.floor(random() * phrases.length)] ?? '';
    return { ...UNKNOWN, text: `${(makePost(n) as { text: string }).text} It is about ${phrase}s.` };
  });
}

/** As many profiles and phrases as the largest plan allows, in the shapes that are most expensive to find. */
export function fullProfiles(): IcpProfile[] {
  const repeated = Array.from({ length: 50 }, (_, i) => 'a '.repeat(i + 1).trim());
  return Array.from({ length: 1_000 }, (_, i) => ({
    ...defaultProfile(`icp_${i}`, 'ten_1', 0),
    name: `Profile ${i}`,
    phrases:
      i === 0 ? repeated : Array.from({ length: 50 }, (_, n) => (n < 25 ? `w${n}` : `w${n} x${i} y${n}`)),
  }));
}

/** Texts of the maximum length, each of which is expensive for a different part. */
export function worstTexts(): Record<string, string> {
  const fill = (unit: string) => unit.repeat(Math.floor(20_000 / [...unit].length));
  return {
    'one letter over and over': fill('a '),
    'every phrase of every profile': fill(Array.from({ length: 25 }, (_, n) => `w${n} `).join('')),
    'digits and commas': fill('1,'),
    digits: fill('1'),
    'curly quotes': fill('it’s '),
    'letters beyond ASCII': fill('é '),
    'no spaces': fill('软'),
    'only punctuation': fill('!'),
    emoji: fill('😀'),
    'repeated requests': fill('we need to find which one would you recommend for us? '),
    'beginnings of cues': fill('looking which need how '),
  };
}
