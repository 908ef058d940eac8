import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { explanationSchema } from '../../src/model/signal.ts';
import { classify, compileProfile, type ScoredPost, scorePost } from '../../src/signals/score.ts';

const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };
const base = defaultProfile('icp_1', 'ten_1', 0);

function score(text: string, profile: Partial<IcpProfile> = {}, facts: Partial<ScoredPost> = {}) {
  return scorePost({ ...UNKNOWN, ...facts, text }, compileProfile({ ...base, ...profile }));
}

const HOT = 'We are looking for a new booking system this month. Budget is $5k, the old one keeps crashing.';

test('a dated, funded request is hot for the default profile', () => {
  const explanation = score(HOT);
  expect(classify(explanation.score, explanation.thresholds)).toBe('hot');
  expect(explanation.factors.map((factor) => factor.key)).toEqual([
    'intent',
    'urgency',
    'budget',
    'pain',
    'topic',
    'company',
  ]);
});

test('small talk is cold', () => {
  expect(classify(score('Nice weather on site today, lads.').score, base.thresholds)).toBe('cold');
});

test.each([
  [
    'a job seeker',
    'For hire: I am looking for a remote job as an electrician, budget friendly, available this week.',
  ],
  [
    'self-promotion',
    'Show HN: we built a CRM for plumbers. Looking for feedback, pricing from $9 per month.',
  ],
  ['somebody who has already switched', 'We already switched to Acme last month, looking for nothing else.'],
])('%s is cold, whatever else the text says', (_who, text) => {
  expect(classify(score(text).score, base.thresholds)).toBe('cold');
});

test('a buyer who replaces an agency is not taken for one', () => {
  const explanation = score(
    'We are replacing our agency this quarter, which one would you recommend? Budget is approved.',
  );
  expect(explanation.negatives).toEqual([]);
  expect(classify(explanation.score, explanation.thresholds)).toBe('hot');
});

test('a competitor’s own staff counts against', () => {
  const explanation = score(HOT, { competitors: ['Acme'] }, { companyName: 'ACME' });
  expect(explanation.negatives.map((factor) => factor.key)).toContain('vendor_staff');
  expect(explanation.score).toBeLessThan(40);
});

test('an excluded phrase counts against and is quoted', () => {
  const explanation = score(`${HOT} For my class project.`, { excludedPhrases: ['class project'] });
  expect(explanation.negatives[0]?.evidence[0]?.text).toBe('class project');
});

test('a request for something else stays below warm where the profile names its topic', () => {
  expect(score(HOT, { phrases: ['scaffolding'] }).score).toBeLessThan(40);
  expect(score(HOT, { phrases: ['booking system'] }).score).toBeGreaterThanOrEqual(70);
});

test('unknown facts are not mismatches, known ones that differ are', () => {
  const profile = { industries: ['Plumbing'], locations: ['UK'] };
  const unknown = score(HOT, profile);
  expect(unknown.negatives).toEqual([]);
  expect(unknown.coverage).toBe(0);
  const known = score(HOT, profile, { industry: 'Plumbing and heating', location: 'Spain' });
  expect(known.coverage).toBe(1);
  expect(known.factors.map((factor) => factor.key)).toContain('industry');
  expect(known.negatives.map((factor) => factor.key)).toEqual(['location']);
});

test.each([
  ['11-50', true],
  ['30', true],
  ['51-200', false],
  ['1,000+', false],
])('a headcount of %s against 10 to 50 fits: %s', (headcount, fits) => {
  const explanation = score(HOT, { headcountRanges: [{ min: 10, max: 50 }] }, { headcount });
  expect(explanation.factors.some((factor) => factor.key === 'headcount')).toBe(fits);
});

test('phrases match whole words in any case, also where they end in punctuation', () => {
  expect(score('We run act! and C++', { phrases: ['Act!', 'C++'] }).factors[0]?.evidence).toHaveLength(2);
  expect(
    score('The contact list', { phrases: ['act'] }).factors.some((factor) => factor.key === 'topic'),
  ).toBe(false);
});

const words = fc.constantFrom(
  'looking for',
  'a CRM',
  '😀',
  'budget',
  '$5k',
  'for hire',
  'we built a',
  'asap',
  'ﬁn',
  'é',
  '.',
);
const texts = fc.array(words, { minLength: 1, maxLength: 30 }).map((list) => list.join(' '));

test('for any text the points add up to a score within 0 and 100, and each quote stands where it says', () => {
  fc.assert(
    fc.property(texts, fc.boolean(), (text, withTopic) => {
      const explanation = score(text, withTopic ? { phrases: ['CRM'], excludedPhrases: ['ﬁn'] } : {});
      explanationSchema.parse(explanation);
      const parts = [...explanation.factors, ...explanation.negatives];
      expect(parts.reduce((sum, factor) => sum + factor.points, 0)).toBe(explanation.score);
      for (const factor of explanation.factors) expect(factor.points).toBeLessThanOrEqual(factor.max);
      for (const evidence of parts
        .flatMap((factor) => factor.evidence)
        .filter((item) => item.field === 'text')) {
        expect(Array.from(text).slice(evidence.start, evidence.end).join('')).toBe(evidence.text);
      }
    }),
  );
});

test('the same post and profile give the same explanation', () => {
  expect(score(HOT)).toEqual(score(HOT));
});

test('a text of the greatest length is scored in well under a second', () => {
  const started = performance.now();
  for (const filler of ['a ', 'we need ', 'looking ', '$', 'which one of '])
    score(filler.repeat(20_000 / filler.length));
  expect(performance.now() - started).toBeLessThan(2_000);
});
