import { fold } from '../lib/text.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { Factor } from '../model/signal.ts';
import { share } from './points.ts';

/**
 * What of the points for fit each answer gets; for what a profile does not ask they are given, so that the whole is the
 * same for every profile.
 */
const FIT_SHARES = { title: 3, industry: 3, headcount: 2, location: 2 } as const;
type FitKey = keyof typeof FIT_SHARES;
/** Points of each answer. */
export type FitPoints = Record<FitKey, number>;

/** What each answer gets of `max` points. */
export function fitPoints(max: number): FitPoints {
  return share(max, FIT_SHARES);
}
const MISMATCH_POINTS = 2;
const VENDOR_POINTS = 70;

/** Facts about the author and their company; an empty string means unknown. */
export interface FitFacts {
  title: string;
  companyName: string;
  industry: string;
  headcount: string;
  location: string;
}

export interface Fit {
  factors: Factor[];
  negatives: Factor[];
  /** Share of the profile's questions that the known facts answer; 1 where it asks none. */
  coverage: number;
}

interface Question {
  key: FitKey;
  field: string;
  label: string;
  /** The known fact; empty: unknown, which counts neither for nor against. */
  fact: string;
  fits: boolean;
}

/** How the author and company fit what the profile asks of them. Unknown facts are not mismatches. */
export function companyFit(facts: FitFacts, profile: IcpProfile, points: FitPoints): Fit {
  const counts = Object.values(points).some((each) => each > 0);
  const questions = questionsOf(facts, profile);
  const known = questions.filter((question) => question.fact !== '');
  const fitting = known.filter((q) => q.fits).map((q) => answer(q, points[q.key]));
  const mismatches = known.filter((q) => !q.fits).map((q) => answer(q, -MISMATCH_POINTS));
  return {
    factors: counts ? [...openQuestions(questions, points), ...fitting] : [],
    negatives: [...(counts ? mismatches : []), ...vendorStaff(facts, profile)],
    coverage: questions.length === 0 ? 1 : Math.round((known.length / questions.length) * 100) / 100,
  };
}

function questionsOf(facts: FitFacts, profile: IcpProfile): Question[] {
  const among = (list: readonly string[], fact: string) => list.some((item) => containsWords(fact, item));
  const all: (Question & { asked: boolean })[] = [
    {
      key: 'title',
      field: 'prospect.title',
      label: 'Job title',
      fact: facts.title,
      fits: among(profile.titles, facts.title),
      asked: profile.titles.length > 0,
    },
    {
      key: 'industry',
      field: 'company.industry',
      label: 'Industry',
      fact: facts.industry,
      fits: among(profile.industries, facts.industry),
      asked: profile.industries.length > 0,
    },
    {
      key: 'headcount',
      field: 'company.headcount',
      label: 'Company size',
      fact: facts.headcount,
      fits: headcountFits(facts.headcount, profile.headcountRanges),
      asked: profile.headcountRanges.length > 0,
    },
    {
      key: 'location',
      field: 'company.location',
      label: 'Location',
      fact: facts.location,
      fits: among(profile.locations, facts.location),
      asked: profile.locations.length > 0,
    },
  ];
  return all.filter((question) => question.asked);
}

function answer(question: Question, points: number): Factor {
  const { key, field, fact, label, fits } = question;
  const evidence = [{ field, start: 0, end: Array.from(fact).length, text: fact }];
  return {
    key,
    label: `${label} ${fits ? 'fits' : 'does not fit'}`,
    max: Math.max(points, 0),
    points,
    evidence,
  };
}

function openQuestions(asked: readonly Question[], each: FitPoints): Factor[] {
  const keys = new Set<string>(asked.map((question) => question.key));
  const open = Object.entries(each).filter(([key]) => !keys.has(key));
  const points = open.reduce((total, [, part]) => total + part, 0);
  if (points === 0) return [];
  const label =
    asked.length === 0 ? 'The profile fits any company' : 'The profile leaves the rest of the company open';
  return [{ key: 'company', label, max: points, points, evidence: [] }];
}

/** Somebody who works for a competitor does not buy from us, whatever they write. */
function vendorStaff(facts: FitFacts, profile: IcpProfile): Factor[] {
  const name = facts.companyName;
  if (name === '' || !profile.competitors.some((competitor) => fold(competitor) === fold(name))) return [];
  const evidence = [{ field: 'company.name', start: 0, end: Array.from(name).length, text: name }];
  return [{ key: 'vendor_staff', label: 'Works for a competitor', max: 0, points: -VENDOR_POINTS, evidence }];
}

function containsWords(fact: string, wanted: string): boolean {
  const words = (text: string) =>
    ` ${fold(text)
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()} `;
  return words(fact).includes(words(wanted));
}

function headcountFits(fact: string, ranges: IcpProfile['headcountRanges']): boolean {
  const [low, high] = (fact.replace(/[,.\s]/gu, '').match(/\d+/gu) ?? []).map(Number);
  if (low === undefined) return false;
  const top = high ?? (fact.includes('+') ? Number.POSITIVE_INFINITY : low);
  return ranges.some((range) => low <= (range.max ?? Number.POSITIVE_INFINITY) && top >= range.min);
}
