import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { type Explanation, explanationSchema } from '../../src/model/signal.ts';
import { classify, type ScoredPost } from '../../src/signals/score.ts';
import { compileOne } from '../support/compile.ts';
import { scoreAlone } from '../support/score-alone.ts';

const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };
const base = defaultProfile('icp_1', 'ten_1', 0);
const DAY_MS = 86_400_000;

function score(text: string, profile: Partial<IcpProfile> = {}, facts: Partial<ScoredPost> = {}) {
  return scoreAlone({ ...UNKNOWN, ...facts, text }, compileOne({ ...base, ...profile }));
}

const classOf = (explanation: Explanation) => classify(explanation.score, explanation.thresholds);
const keysOf = (factors: Explanation['factors']) => factors.map((factor) => factor.key);

const HOT =
  'Looking for a booking system for our repair firm, recommendations? We are 12 people and have outgrown our ' +
  'spreadsheet. Budget is $500 a month and we need to choose one by Friday. Which tool would you recommend?';

test('a request with a deadline and a budget is hot for the default profile, and the explanation says why', () => {
  const explanation = score(HOT);
  expect(classOf(explanation)).toBe('hot');
  expect(keysOf(explanation.factors)).toContain('intent');
  expect(explanation.summary).toContain('asks for something to buy');
});

test.each([
  ['small talk', 'Nice weather on site today, lads.'],
  ['a wish that is denied', 'We are not looking for a new CRM, ours works well.'],
  ['an agency that looks for buyers', 'Are you looking for a CRM? Our agency can help, book a call.'],
  [
    'a job seeker',
    '[For hire] Web developer, 6 years of experience, looking for a remote job. My resume is online.',
  ],
  [
    'self-promotion',
    'Show HN: we built a CRM for plumbers. Looking for feedback, pricing from $9 per month.',
  ],
  ['one who has switched', 'We already switched to Acme last month and are so happy with it.'],
])('%s is cold', (_who, text) => {
  expect(classOf(score(text))).toBe('cold');
});

test('a cold post names the strongest reason against it, even without points to lose', () => {
  const explanation = score(
    'I built a side project over the weekend. Feedback is welcome, sign up for the wait list.',
  );
  expect(classOf(explanation)).toBe('cold');
  expect(explanation.negatives[0]?.evidence.length).toBeGreaterThan(0);
  expect(explanation.summary).not.toContain('nothing speaks');
});

test('working for a competitor counts against a post, whatever it says', () => {
  const explanation = score(
    HOT,
    { competitors: ['Acme'], phrases: ['booking system'] },
    { companyName: 'ACME, Inc.' },
  );
  expect(keysOf(explanation.negatives)).toContain('vendor_staff');
  expect(classOf(explanation)).toBe('cold');
});

test('an excluded phrase counts against a post and is quoted', () => {
  const explanation = score(`${HOT} For my class project.`, { excludedPhrases: ['class project'] });
  const found = explanation.negatives.find(({ key }) => key === 'excluded_phrase');
  expect(found?.evidence[0]?.text).toBe('class project');
  expect(classOf(explanation)).toBe('cold');
});

test('quotes end with their word or number: not "$4" of $400', () => {
  const text =
    'Looking for scheduling software. The budget is approved ($400 a month, up to $1,200.50) and we need it by December.';
  const explanation = score(text);
  const quotes = explanation.factors.flatMap(({ evidence }) =>
    evidence.filter(({ field }) => field === 'text'),
  );
  expect(quotes.length).toBeGreaterThan(2);
  for (const { start, end } of quotes) {
    expect(text.slice(Math.max(0, start - 1), start + 1)).not.toMatch(/^[\p{L}\p{N}]{2}$/u);
    expect(text.slice(end - 1, end + 1)).not.toMatch(/^[\p{L}\p{N}]{2}$/u);
    expect(text.slice(end - 1)).not.toMatch(/^\d[.,]\d/);
  }
});

test('a request for something else stays below warm if the profile names its topic', () => {
  expect(classOf(score(HOT, { phrases: ['scaffolding'] }))).toBe('cold');
  expect(classOf(score(HOT, { phrases: ['booking system'] }))).toBe('hot');
});

test('unknown facts change nothing; matching ones add points, others take points away', () => {
  const asking = { phrases: ['booking system'], industries: ['Plumbing'], locations: ['UK'] };
  const silent = score(HOT, asking);
  expect(silent.score).toBe(score(HOT, { phrases: ['booking system'] }).score);
  expect(silent.coverage).toBe(0);
  const fitting = score(HOT, asking, { industry: 'Plumbing and heating', location: 'Leeds, UK' });
  const differing = score(HOT, asking, { industry: 'Banking', location: 'Spain' });
  expect(fitting.coverage).toBe(1);
  expect(fitting.score).toBeGreaterThanOrEqual(silent.score);
  expect(differing.score).toBeLessThanOrEqual(silent.score);
});

test('in a German post, the phrases of the profile count, but English cues do not', () => {
  const german =
    'Wir suchen ein neues Buchungssystem für unseren Betrieb mit zwölf Leuten. Wer hat Erfahrung?';
  const weights = { ...base.weights, topic: 100 };
  const named = score(german, { phrases: ['Buchungssystem'], weights });
  expect(named.factors.find(({ key }) => key === 'topic')?.evidence[0]?.text).toBe('Buchungssystem');
  expect(named.score).toBeGreaterThan(score(german, { phrases: ['scaffolding'], weights }).score);
  expect(named.factors.map(({ key }) => key)).not.toContain('intent');
});

test('a post from 2012 is cold, and one from an hour ago is as hot as one without a time', () => {
  expect(classOf(score(HOT, {}, { ageMs: 14 * 365 * DAY_MS }))).toBe('cold');
  expect(score(HOT, {}, { ageMs: 3_600_000 }).score).toBe(score(HOT).score);
});

const words = fc.constantFrom(
  ...[
    'we are looking for',
    'a CRM',
    '😀',
    '𝒜',
    'budget',
    '$5k',
    'for hire',
    'we built a',
    'asap',
    'ﬁn',
    'é',
    '.',
    '?',
    '\n',
  ],
  ...['can anyone recommend', 'not', 'raised $4M', 'terrible', 'Head of Sales', 'which tool', 'our team'],
);
const spaces = fc.constantFrom(' ', ' ', '');
const texts = fc
  .array(fc.tuple(words, spaces), { minLength: 1, maxLength: 40 })
  .map((list) => list.flat().join(''));

test('for any text, the points add up to a score from 0 to 100, and each quote is at its offsets', () => {
  fc.assert(
    fc.property(texts, fc.boolean(), fc.option(fc.nat(5_000)), (text, withTopic, days) => {
      const ageMs = days === null ? null : days * DAY_MS;
      const profile = withTopic ? { phrases: ['CRM'], excludedPhrases: ['ﬁn'] } : {};
      const explanation = score(text, profile, { ageMs });
      explanationSchema.parse(explanation);
      const parts = [...explanation.factors, ...explanation.negatives];
      expect(parts.reduce((sum, factor) => sum + factor.points, 0)).toBe(explanation.score);
      for (const { evidence, points, max } of parts) {
        expect(points).toBeLessThanOrEqual(Math.max(0, max));
        for (const { start, end, text: quoted } of evidence) {
          expect(Array.from(text).slice(start, end).join('')).toBe(quoted);
        }
      }
    }),
    { seed: 20_261_122, numRuns: 400 },
  );
});

test('a higher age never raises the score', () => {
  fc.assert(
    fc.property(texts, fc.nat(4_000), fc.nat(4_000), (text, a, b) => {
      const at = (days: number) => score(text, {}, { ageMs: days * DAY_MS }).score;
      expect(at(Math.max(a, b))).toBeLessThanOrEqual(at(Math.min(a, b)));
    }),
    { seed: 20_261_122 },
  );
});

test('another excluded phrase never raises a score', () => {
  fc.assert(
    fc.property(texts, fc.constantFrom('CRM', 'budget', 'asap', 'for hire'), (text, phrase) => {
      expect(score(text, { excludedPhrases: [phrase] }).score).toBeLessThanOrEqual(score(text).score);
    }),
    { seed: 20_261_122 },
  );
});

test('a profile with criteria for author and company puts a post without facts in the same class', () => {
  const asking = {
    titles: ['Owner'],
    industries: ['Roofing'],
    locations: ['US'],
    headcountRanges: [{ min: 1, max: 9 }],
  };
  fc.assert(
    fc.property(texts, (text) => {
      expect(classOf(score(text, { phrases: ['CRM'], ...asking }))).toBe(
        classOf(score(text, { phrases: ['CRM'] })),
      );
    }),
    { seed: 20_261_122 },
  );
});
