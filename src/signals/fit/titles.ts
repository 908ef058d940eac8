import { departmentOf, seniorityOf } from '../../leads/title.ts';
import type { Verdict } from './verdict.ts';

/** A job title by what it says: the part of the company, and how much its holder decides. Empty: it does not say. */
export interface Title {
  department: string;
  rank: string;
}

/** Who decides for a company, or for a part of one: within each the titles mean the same. */
const RANKS: Readonly<Record<string, string>> = {
  founder: 'company',
  owner: 'company',
  c_suite: 'department',
  vp: 'department',
  head: 'department',
  director: 'department',
};

export function readTitle(text: string): Title {
  const seniority = seniorityOf(text);
  const department = departmentOf(text);
  const rank = department === 'executive' ? 'company' : (RANKS[seniority] ?? seniority);
  return { department: rank === 'company' ? 'executive' : department, rank };
}

/** Whether a title is of the kind that is wanted: a VP of Sales for "Head of Sales", anybody in it for "Marketing". */
export function compareTitles(fact: Title, wanted: Title): Verdict {
  if (wanted.department === '' && wanted.rank === '') return 'unknown';
  const parts = [compareParts(fact.department, wanted.department), compareParts(fact.rank, wanted.rank)];
  if (parts.includes('does_not_fit')) return 'does_not_fit';
  return parts.includes('unknown') ? 'unknown' : 'fits';
}

function compareParts(is: string, asked: string): Verdict {
  if (asked === '' || is === asked) return 'fits';
  return is === '' ? 'unknown' : 'does_not_fit';
}
