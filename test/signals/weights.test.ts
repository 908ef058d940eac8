import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  DEFAULT_WEIGHTS,
  defaultProfile,
  type IcpProfile,
  WEIGHT_KEYS,
  type Weights,
} from '../../src/model/icp.ts';
import { share } from '../../src/signals/points.ts';
import { compileProfile, type ScoredPost, scorePost } from '../../src/signals/score.ts';

const POST: ScoredPost = {
  text: 'We are looking for a new CRM this month. Budget is $5k, the old one keeps crashing. Class project.',
  title: 'Head of Sales',
  companyName: 'Acme',
  industry: 'Software',
  headcount: '11-50',
  location: 'Leeds, UK',
};

function score(profile: Partial<IcpProfile>) {
  return scorePost(
    POST,
    compileProfile({ ...defaultProfile('icp_1', 'ten_1', 0), phrases: ['CRM'], ...profile }),
  );
}

const only = (key: string) =>
  Object.fromEntries(WEIGHT_KEYS.map((each) => [each, each === key ? 1 : 0])) as Weights;

test('the default weights are the points that reasons have by default', () => {
  expect(share(100, DEFAULT_WEIGHTS)).toEqual(DEFAULT_WEIGHTS);
});

test.each(WEIGHT_KEYS)('with all weight on %s, it alone gives points, all 100 of them', (key) => {
  const { factors, score: total } = score({ weights: only(key) });
  expect(new Set(factors.map((factor) => (factor.key === 'company' ? 'fit' : factor.key)))).toEqual(
    new Set([key]),
  );
  expect(total).toBe(100);
});

test.each(WEIGHT_KEYS)('a weight of 0 leaves %s out', (key) => {
  const factorKeys = score({ weights: { ...DEFAULT_WEIGHTS, [key]: 0 } }).factors.map((factor) => factor.key);
  expect(factorKeys).not.toContain(key === 'fit' ? 'company' : key);
});

test('a greater weight gives more of the points', () => {
  const urgency = (weight: number) =>
    score({ weights: { ...DEFAULT_WEIGHTS, urgency: weight } }).factors.find((f) => f.key === 'urgency')
      ?.points;
  expect(urgency(100)).toBeGreaterThan(urgency(10) ?? 0);
});

test('without a weight for the topic a post on something else loses nothing', () => {
  const off = { phrases: ['scaffolding'] };
  expect(score(off).negatives.map((factor) => factor.key)).toContain('off_topic');
  expect(score({ ...off, weights: { ...DEFAULT_WEIGHTS, topic: 0 } }).negatives).toEqual([]);
});

test('without a weight for fit a company that differs loses nothing', () => {
  const other = { industries: ['Farming'] };
  expect(score(other).negatives.map((factor) => factor.key)).toEqual(['industry']);
  expect(score({ ...other, weights: { ...DEFAULT_WEIGHTS, fit: 0 } }).negatives).toEqual([]);
});

test.each<[string, Partial<IcpProfile>]>([
  ['phrases', { phrases: ['scaffolding'] }],
  ['excluded phrases', { excludedPhrases: ['class project'] }],
  ['competitors', { competitors: ['Acme'] }],
  ['industries', { industries: ['Farming'] }],
  ['titles', { titles: ['Plumber'] }],
  ['headcount ranges', { headcountRanges: [{ min: 500, max: null }] }],
  ['locations', { locations: ['Spain'] }],
  ['weights', { weights: { ...DEFAULT_WEIGHTS, fit: 90 } }],
  ['thresholds', { thresholds: { hot: 99, warm: 98 } }],
])('every setting counts: %s', (_, setting) => {
  expect(score(setting)).not.toEqual(score({}));
});

const anyWeights = fc
  .record(Object.fromEntries(WEIGHT_KEYS.map((key) => [key, fc.double({ min: 0, max: 100, noNaN: true })])))
  .filter((weights) => Object.values(weights).some((weight) => weight > 0));

test('whatever the weights, they share out exactly 100 points, and the points add up to the score', () => {
  fc.assert(
    fc.property(anyWeights, (weights) => {
      const shares = Object.values(share(100, weights as Weights));
      expect(shares.reduce((sum, points) => sum + points, 0)).toBe(100);
      expect(shares.every((points) => Number.isInteger(points) && points >= 0)).toBe(true);
      const explanation = score({
        weights: weights as Weights,
        industries: ['Software'],
        locations: ['Spain'],
      });
      const parts = [...explanation.factors, ...explanation.negatives];
      expect(parts.reduce((sum, factor) => sum + factor.points, 0)).toBe(explanation.score);
      expect(explanation.score).toBeGreaterThanOrEqual(0);
      expect(explanation.score).toBeLessThanOrEqual(100);
      for (const factor of explanation.factors) expect(factor.points).toBeLessThanOrEqual(factor.max);
    }),
  );
});
