import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { classify, type ScoredPost } from '../../src/signals/score.ts';
import { compileOne } from '../support/compile.ts';
import { cpuMsOf } from '../support/cpu-time.ts';
import { scoreAlone } from '../support/score-alone.ts';

const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };
const PROFILE = {
  phrases: ['warehouse robots'],
  competitors: ['Shelfbot'],
  titles: ['Head of Operations'],
  industries: ['Logistics'],
  headcountRanges: [{ min: 50, max: 500 }],
};

function tell(text: string, facts: Partial<ScoredPost> = {}, profile: Partial<IcpProfile> = PROFILE) {
  const compiled = compileOne({ ...defaultProfile('icp_1', 'ten_1', 0), ...profile });
  const explanation = scoreAlone({ ...UNKNOWN, ...facts, text }, compiled);
  return { ...explanation, told: classify(explanation.score, explanation.thresholds) };
}

const ROUND = 'Halden Cargo raises $12M Series A led by Northern Ventures.';
const HEAD = 'Halden Cargo appoints Ida Brandt as its new VP of Operations.';
const NEW_JOB = 'Delighted to share that I am starting as Head of Operations at Halden Cargo next month.';
const REVIEW = 'Shelfbot review: terrible support, the worst we ever had. 1 of 5 stars, avoid.';
const LEAVING = 'Shelfbot raised our price by 40 percent. We are thinking of leaving.';
const ADVERT =
  'We are hiring an operations engineer (full-time). You will lead our migration from Shelfbot to a new platform. Apply now.';

const BOTH = { industry: 'Logistics', headcount: '120' };
const ON_TOPIC = `${ROUND} It will buy warehouse robots.`;

test.each<[string, string, Partial<ScoredPost>, string]>([
  ['a round at a company that fits, in topic', ON_TOPIC, BOTH, 'raises $12M'],
  ['a bad review of a competitor', REVIEW, {}, 'terrible'],
  ['who complains of a competitor and leaves it', LEAVING, {}, 'We are thinking of leaving'],
  ['a job advert that tells of a migration', ADVERT, { type: 'intent_post' }, 'migration'],
])('%s is hot without asking, and says why', (_what, text, facts, quoted) => {
  const { told, factors, score, negatives } = tell(text, facts);
  expect(told).toBe('hot');
  const trigger = factors.find(({ key }) => key === 'trigger');
  expect(trigger?.evidence.map((each) => each.text).join(' ')).toContain(quoted);
  expect([...factors, ...negatives].reduce((sum, { points }) => sum + points, 0)).toBe(score);
});

test.each<[string, string, Partial<ScoredPost>]>([
  ['a round at a company that fits', ROUND, BOTH],
  ['a round of a company in topic', ON_TOPIC, {}],
  ['a new head of the department at a company that fits', HEAD, { industry: 'Logistics' }],
  ['a new head whose title is a fact', HEAD, { title: 'VP Operations' }],
  ['a new head, in topic', `${HEAD} She brought warehouse robots to Orla Foods.`, {}],
  ['a plan to replace a competitor', 'Looking to replace Shelfbot before spring. 14 sites.', {}],
  ['a competitor held beside others', 'Shelfbot vs Tally vs Stackr: need to pick one this quarter', {}],
])('%s is at least warm', (_what, text, facts) => {
  expect(tell(text, facts).told).not.toBe('cold');
});

test.each<[string, string, Partial<ScoredPost>]>([
  ['a round of a company that nothing is known of', ROUND, {}],
  ['a round of a company that does not fit', ROUND, { industry: 'Banking' }],
  ['a head of another department', HEAD.replace('Operations', 'Marketing'), { industry: 'Logistics' }],
  ['a new job of somebody of whom nothing fits', NEW_JOB, {}],
  [
    'a question about a job of one’s own',
    'Joined as Head of Operations at a small startup, how much equity is fair?',
    { industry: 'Logistics' },
  ],
  [
    'a departure',
    'Our head of operations is stepping down as VP of Operations, morale is terrible',
    { industry: 'Logistics' },
  ],
  ['a seller who compares', 'We built a Shelfbot alternative. Try Stackr, our new tool!', {}],
])('%s is not an event', (_what, text, facts) => {
  expect(tell(text, facts).told).toBe('cold');
});

test.each<[string, string, Partial<ScoredPost>]>([
  ['of a round of another size', ON_TOPIC.replace('$12M', '$40k'), BOTH],
  ['of somebody else’s product', REVIEW.replace('Shelfbot', 'Tally'), {}],
  ['of who leaves somebody else', LEAVING.replace('Shelfbot', 'Tally'), {}],
  ['of who complains and stays', LEAVING.replace('thinking of', 'not'), {}],
  ['of a job without a migration', ADVERT.replace('migration from', 'work with'), { type: 'intent_post' }],
])('news %s is not hot', (_what, text, facts) => {
  expect(tell(text, facts).told).not.toBe('hot');
});

test('a new executive is at least warm if a profile has no job titles', () => {
  expect(tell(NEW_JOB, {}, {}).told).not.toBe('cold');
});

test('an excluded phrase counts against an event, too', () => {
  const facts = { industry: 'Logistics' };
  expect(tell(ROUND, facts, { ...PROFILE, excludedPhrases: ['Northern Ventures'] }).told).toBe('cold');
});

test('a signal type that the profile turned off scores nothing, and the explanation says so', () => {
  const { told, negatives, score } = tell(
    LEAVING,
    {},
    { ...PROFILE, signalTypes: ['qa_forum', 'job_change'] },
  );
  expect({ told, score }).toEqual({ told: 'cold', score: 0 });
  expect(negatives.map(({ label }) => label)).toContain('Signal type turned off in this profile');
  expect(tell(LEAVING, {}, { ...PROFILE, signalTypes: ['intent_post', 'review'] }).told).toBe('hot');
});

test('news with a sentence of one word in capitals takes no longer than other news', () => {
  const text = `${'É'.repeat(4_500)} and it has raised $12M in Series A funding, warehouse robots`;
  tell(text, { type: 'funding_event' });
  const took = cpuMsOf(() => {
    for (let n = 0; n < 20; n++) tell(text, { type: 'funding_event' });
  });
  expect(took).toBeLessThan(200); // 440 when the whole sentence was searched for a name
});
