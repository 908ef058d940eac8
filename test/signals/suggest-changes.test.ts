import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile, patchProfile } from '../../src/model/icp.ts';
import { classify } from '../../src/signals/score.ts';
import { judgedPostOf, patchOf, suggestChanges, tallyOf } from '../../src/signals/suggest-changes.ts';
import { compileOne } from '../support/compile.ts';
import { scoreAlone } from '../support/score-alone.ts';

const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };
const base = defaultProfile('icp_1', 'ten_1', 0);

function judgedPost(
  profile: IcpProfile,
  { text, relevant, score }: { text: string; relevant: boolean; score: number },
  i: number,
) {
  const wire = JSON.stringify({
    signal_type: 'intent_post',
    timestamp: '2026-11-22T00:00:00.000Z',
    prospect: { name: `Author ${i}`, title: '', email: '', linkedin_url: '' },
    company: { name: '', domain: '', industry: '', headcount: '', location: '' },
    platform: { name: `site${i}`, post_url: '', posted_at: '' },
  });
  const classification = classify(score, profile.thresholds);
  const judgement = { signalId: `sig_${i}`, score, classification, relevant, createdAt: 0, textBytes: 0 };
  return judgedPostOf(judgement, { text, wire });
}

/** Suggestions for posts with the scores of the profile, or of `score`. */
async function suggest(
  profile: IcpProfile,
  posts: readonly { text: string; relevant: boolean; score?: number }[],
) {
  const compiled = compileOne(profile);
  const judged = posts.map(({ text, relevant, score: given }, i) => {
    const score = given ?? scoreAlone({ ...UNKNOWN, text }, compiled).score;
    return judgedPost(profile, { text, relevant, score }, i);
  });
  return suggestChanges(profile, judged, async () => {});
}

const ASK =
  'We are looking for a new depot scanner for our team, which would you recommend? Budget is approved.';

test('a phrase shared by relevant posts is suggested, and shows them', async () => {
  const profile = { ...base, phrases: ['barcode'] };
  const posts = [
    { text: ASK, relevant: true },
    { text: `${ASK} By Friday.`, relevant: true },
    { text: 'A barcode is a picture.', relevant: false },
  ];
  const found = (await suggest(profile, posts)).find(({ value }) => value === 'depot scanner');
  expect(found).toMatchObject({
    kind: 'add_phrase',
    member: 'phrases',
    effect: { shown_before: { relevant: 0, not_relevant: 0 }, shown_after: { relevant: 2, not_relevant: 0 } },
  });
});

test('a phrase that shows no further relevant posts is not suggested', async () => {
  const text = `${ASK} We decide next month.`;
  const posts = [
    { text, relevant: true },
    { text: `${text} By Friday.`, relevant: true },
    { text: 'It rains.', relevant: false },
  ];
  const found = await suggest({ ...base, phrases: ['depot scanner'] }, posts);
  expect(found.filter(({ kind }) => kind === 'add_phrase')).toEqual([]);
});

test('a lower threshold is suggested for relevant posts just below it, and a higher one to hide irrelevant ones', async () => {
  const low = await suggest(base, [
    { text: 'one of them', relevant: true, score: 36 },
    { text: 'another here', relevant: true, score: 34 },
    { text: 'nothing', relevant: false, score: 10 },
  ]);
  expect(low).toMatchObject([{ kind: 'lower_threshold', member: 'thresholds.warm', value: 34 }]);
  const high = await suggest(base, [
    { text: 'good', relevant: true, score: 66 },
    { text: 'first wrong', relevant: false, score: 45 },
    { text: 'second bad', relevant: false, score: 44 },
  ]);
  expect(high).toMatchObject([
    { kind: 'raise_threshold', value: 66, effect: { shown_after: { relevant: 1, not_relevant: 0 } } },
  ]);
});

test('a change of a weight is suggested if it separates relevant posts from others, and has the stated effect', async () => {
  const complaints = [
    'It is a mess, our team is drowning.',
    'It is a mess and our team is fed up.',
    'What a mess, our staff is fed up with it.',
  ];
  const posts = [
    ...complaints.map((text) => ({ text, relevant: false, score: 41 })),
    { text: ASK, relevant: true, score: 90 },
  ];
  const moves = (await suggest(base, posts)).filter(({ kind }) => kind === 'move_weight');
  expect(moves).toHaveLength(1);
  const [move] = moves;
  if (move === undefined) return;
  const { shown_before: before, shown_after: after } = move.effect;
  expect(before).toEqual({ relevant: 1, not_relevant: 3 });
  expect(after.relevant).toBe(1);
  expect(after.not_relevant).toBeLessThanOrEqual(1);
  const key = move.member.replace('weights.', '') as keyof typeof base.weights;
  expect(patchProfile(base, patchOf(move, base)).weights[key]).toBe(move.value);
});

test('of a million pairs of words, a limited number is counted, each in every post', async () => {
  const shared = 'depot scanner';
  // A Korean syllable with a final consonant counts as a word of three letters.
  let seed = 1;
  const syllable = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return String.fromCharCode(0xac00 + (seed % 399) * 28 + 1 + (seed % 27));
  };
  const posts = Array.from({ length: 350 }, (_, i) => {
    const text = `${shared}. ${Array.from({ length: 2_900 }, syllable).join(' ')}`;
    return judgedPost(base, { text, relevant: true, score: 50 }, i);
  });
  const tally = await tallyOf(posts, async () => {});
  expect(tally.size).toBe(131_072);
  expect(tally.get(shared)).toBe(350);
});
