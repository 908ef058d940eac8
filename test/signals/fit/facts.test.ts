import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../../src/model/icp.ts';
import {
  compareIndustries,
  compareTitles,
  compileFit,
  coverageOf,
  type FitFacts,
  fitAnswers,
  isVendorStaff,
  readFacts,
  readHeadcount,
  readIndustry,
  readTitle,
} from '../../../src/signals/fit.ts';
import { atOnce } from '../../support/compile.ts';

const NOTHING: FitFacts = { title: '', companyName: '', industry: '', headcount: '', location: '' };

function judge(profile: Partial<IcpProfile>, facts: Partial<FitFacts>) {
  const compiled = atOnce(compileFit({ ...defaultProfile('icp_1', 'ten_1', 0), ...profile }));
  const read = readFacts({ ...NOTHING, ...facts });
  const answers = fitAnswers(read, compiled);
  return {
    verdicts: Object.fromEntries(answers.map(({ key, verdict }) => [key, verdict])),
    coverage: coverageOf(answers),
    vendor: isVendorStaff(read, compiled),
  };
}

test.each([
  ['SaaS', 'Software', 'fits'],
  ['Information Technology & Services', 'software', 'fits'],
  ['Plumbing and heating', 'Construction', 'fits'],
  ['Fintech', 'Financial Services', 'fits'],
  ['Dentist', 'Healthcare', 'fits'],
  ['Healthcare', 'Dental', 'unknown'],
  ['Plumbing', 'Roofing', 'does_not_fit'],
  ['Restaurants', 'Software', 'does_not_fit'],
  ['Falconry', 'Software', 'unknown'],
])('industry %s for %s: %s', (fact, wanted, verdict) => {
  expect(compareIndustries(readIndustry(fact), readIndustry(wanted))).toBe(verdict);
});

test.each([
  ['VP of Sales', 'Head of Sales', 'fits'],
  ['Sales Director', 'VP Sales', 'fits'],
  ['CEO', 'Founder', 'fits'],
  ['Owner', 'Managing Director', 'fits'],
  ['Marketing Manager', 'Marketing', 'fits'],
  ['Marketing Manager', 'Head of Marketing', 'does_not_fit'],
  ['CTO', 'Head of Sales', 'does_not_fit'],
  ['Head', 'Head of Sales', 'unknown'],
  ['Wizard', 'Head of Sales', 'unknown'],
])('title %s for %s: %s', (fact, wanted, verdict) => {
  expect(compareTitles(readTitle(fact), readTitle(wanted))).toBe(verdict);
});

test.each([
  ['50', { min: 50, max: 50 }],
  ['51-200', { min: 51, max: 200 }],
  ['51 – 200 employees', { min: 51, max: 200 }],
  ['1,000+', { min: 1_000, max: null }],
  ['10 001+', { min: 10_001, max: null }],
  ['1k-5k', { min: 1_000, max: 5_000 }],
  ['1.5k', { min: 1_500, max: 1_500 }],
  ['over 500', { min: 500, max: null }],
  ['<50', { min: 1, max: 50 }],
  ['self-employed', { min: 1, max: 1 }],
  ['a few', null],
])('a headcount of %s is parsed as %j', (text, range) => {
  expect(readHeadcount(text)).toEqual(range);
});

test('a headcount fits if it overlaps a range', () => {
  const headcountRanges = [{ min: 100, max: 500 }];
  expect(judge({ headcountRanges }, { headcount: '51-200' }).verdicts).toEqual({ headcount: 'fits' });
  expect(judge({ headcountRanges }, { headcount: '1,000+' }).verdicts).toEqual({ headcount: 'does_not_fit' });
  expect(judge({ headcountRanges }, { headcount: 'many' }).verdicts).toEqual({ headcount: 'unknown' });
});

test('one matching term is enough, and terms of no known kind match literally', () => {
  const profile = {
    industries: ['Falconry', 'Software'],
    locations: ['Springfield', 'UK'],
    titles: ['Falconers'],
  };
  const facts = { industry: 'Royal falconry', location: 'Springfield', title: 'Chief Falconer' };
  expect(judge(profile, facts).verdicts).toEqual({ title: 'fits', industry: 'fits', location: 'fits' });
});

test('unknown facts are not a mismatch, and coverage is the share of known ones', () => {
  const profile = { industries: ['Software'], locations: ['UK'] };
  expect(judge(profile, {})).toMatchObject({
    verdicts: { industry: 'unknown', location: 'unknown' },
    coverage: 0,
  });
  expect(judge(profile, { location: 'Leeds, UK' }).coverage).toBe(0.5);
  expect(judge({}, {}).coverage).toBe(1);
});

test('a competitor is recognised with any legal form', () => {
  expect(judge({ competitors: ['Acme'] }, { companyName: 'ACME, Inc.' }).vendor).toBe(true);
  expect(judge({ competitors: ['Acme GmbH'] }, { companyName: 'Acme' }).vendor).toBe(true);
  expect(judge({ competitors: ['Acme'] }, { companyName: 'Acme Tools' }).vendor).toBe(false);
});
