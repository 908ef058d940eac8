import type { Signal } from './signal.ts';

/** What can be known of a company beside its domain. */
export const COMPANY_FACTS = [
  'name',
  'industry',
  'headcount',
  'location',
  'description',
  'linkedin_url',
] as const;
export type CompanyFact = (typeof COMPANY_FACTS)[number];

/** What posts tell of a company. */
const OBSERVED_FACTS = ['name', 'industry', 'headcount', 'location'] as const satisfies CompanyFact[];

/** Set by a caller at that time, Unix milliseconds. */
interface ManualFact {
  value: string;
  at: number;
}

/** Seen first in that signal. */
interface ObservedFact extends ManualFact {
  signal_id: string;
}

/** Everything known of a company, by whom; what was set by hand stands above what was seen. */
export interface CompanyFacts {
  manual: Partial<Record<CompanyFact, ManualFact>>;
  observed: Partial<Record<CompanyFact, ObservedFact>>;
}

/** What a caller sets; null takes the manual value away. */
export type FactChanges = Partial<Record<CompanyFact, string | null | undefined>>;

/** Where a value in force comes from. */
export interface FactOrigin {
  value: string;
  source: 'manual' | 'signal';
  signalId: string | null;
  at: number;
}

export const NO_FACTS: CompanyFacts = { manual: {}, observed: {} };

/** The facts after a signal was seen, the newest word counting; the same object where it says nothing new. */
export function observeFacts(
  facts: CompanyFacts,
  company: Signal['company'],
  seen: { signalId: string; at: number },
): CompanyFacts {
  const fresh = OBSERVED_FACTS.filter(
    (field) => company[field] !== '' && company[field] !== facts.observed[field]?.value,
  );
  if (fresh.length === 0) return facts;
  const observed = fresh.map((field) => [
    field,
    { value: company[field], signal_id: seen.signalId, at: seen.at },
  ]);
  return { ...facts, observed: { ...facts.observed, ...Object.fromEntries(observed) } };
}

/** The facts after a caller set some; the same object where nothing changes. */
export function setFacts(facts: CompanyFacts, changes: FactChanges, at: number): CompanyFacts {
  const manual = { ...facts.manual };
  for (const field of COMPANY_FACTS) {
    const value = changes[field];
    if (value === null) delete manual[field];
    else if (value !== undefined && value !== manual[field]?.value) manual[field] = { value, at };
  }
  const same = COMPANY_FACTS.every((field) => manual[field] === facts.manual[field]);
  return same ? facts : { ...facts, manual };
}

/** The current value of a fact; null if unknown. */
export function factInForce({ manual, observed }: CompanyFacts, field: CompanyFact): FactOrigin | null {
  const set = manual[field];
  if (set !== undefined) return { ...set, source: 'manual', signalId: null };
  const seen = observed[field];
  return seen === undefined
    ? null
    : { value: seen.value, source: 'signal', signalId: seen.signal_id, at: seen.at };
}
