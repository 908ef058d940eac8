import type { Signal } from '../model/signal.ts';

/** What of people and company a signal is found by, beside its text; unknown ones left out. */
export function searchedFacts({
  prospect,
  company,
}: Partial<Pick<Signal, 'prospect' | 'company'>>): string[] {
  const facts = [prospect?.name, prospect?.title, prospect?.email];
  return [...facts, company?.name, company?.domain, company?.industry, company?.location].filter(
    (fact): fact is string => fact !== undefined && fact !== '',
  );
}
