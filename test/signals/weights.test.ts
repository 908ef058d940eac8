import { expect, test } from 'vitest';
import { DEFAULT_WEIGHTS } from '../../src/model/constants.ts';
import { defaultProfile, type IcpProfile, WEIGHT_KEYS } from '../../src/model/icp.ts';
import { share } from '../../src/signals/explain.ts';
import type { ScoredPost } from '../../src/signals/score.ts';
import { compileOne } from '../support/compile.ts';
import { scoreAlone } from '../support/score-alone.ts';

const POST: ScoredPost = {
  text: 'We are looking for a new CRM this month, which would you recommend? Budget is $5k, the old one keeps crashing.',
  title: 'Head of Sales',
  companyName: 'Acme',
  industry: 'Software',
  headcount: '11-50',
  location: 'Leeds, UK',
};

function score(profile: Partial<IcpProfile>) {
  return scoreAlone(
    POST,
    compileOne({ ...defaultProfile('icp_1', 'ten_1', 0), phrases: ['CRM'], ...profile }),
  );
}

test('the default weights divide 100 points exactly', () => {
  expect(share(100, DEFAULT_WEIGHTS)).toEqual(DEFAULT_WEIGHTS);
});

test.each(WEIGHT_KEYS)('a weight of 0 removes %s', (key) => {
  const { factors, negatives } = score({
    titles: ['Head of Sales'],
    weights: { ...DEFAULT_WEIGHTS, [key]: 0 },
  });
  expect([...factors, ...negatives].map((factor) => factor.key)).not.toContain(key);
});

test('a greater weight gives more of the points', () => {
  const points = (weight: number) =>
    score({ weights: { ...DEFAULT_WEIGHTS, intent: weight } }).factors.find(({ key }) => key === 'intent')
      ?.points ?? 0;
  expect(points(80)).toBeGreaterThan(points(10));
});

test('without a weight for the topic, a post about something else is not off topic', () => {
  const off = { phrases: ['scaffolding'] };
  expect(score(off).negatives.map(({ key }) => key)).toContain('off_topic');
  const open = score({ ...off, weights: { ...DEFAULT_WEIGHTS, topic: 0 } });
  expect(open.negatives.map(({ key }) => key)).not.toContain('off_topic');
});
