import type { Signal } from './signal.ts';

/** The facts that can be known about a company, besides its domain. */
export const COMPANY_FACTS = [
  'name',
  'industry',
  'headcount',
  'location',
  'description',
  'linkedin_url',
] as const;
export type CompanyFact = (typeof COMPANY_FACTS)[number];

/** The facts that posts contain. */
const OBSERVED_FACTS = ['name', 'industry', 'headcount', 'location'] as const satisfies CompanyFact[];

/** Set manually, at this time (Unix milliseconds). */
interface ManualFact {
  value: string;
  at: number;
}

/** First seen in this signal. */
interface ObservedFact extends ManualFact {
  signal_id: string;
}

/** All known facts about a company, with their origin. Manual values take precedence over observed ones. */
export interface CompanyFacts {
  manual: Partial<Record<CompanyFact, ManualFact>>;
  observed: Partial<Record<CompanyFact, ObservedFact>>;
}

/** Manual values to set; null removes the manual value. */
export type FactChanges = Partial<Record<CompanyFact, string | null | undefined>>;

/** Where the current value came from. */
export interface FactOrigin {
  value: string;
  source: 'manual' | 'signal';
  signalId: string | null;
  at: number;
}

export const NO_FACTS: CompanyFacts = { manual: {}, observed: {} };

/** Adds the facts of a signal; newer values replace older ones. Returns the same object if nothing is new. */
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

/** Sets facts manually. Returns the same object if nothing changes. */
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
