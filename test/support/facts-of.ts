import { type Facts, readFact } from '../../src/leads/facts.ts';
import { FACT_FIELDS, type Lead } from '../../src/model/lead.ts';

/** The facts of a lead, as a flat object. */
export function factsOf(lead: Lead): Facts {
  const facts: Facts = {};
  for (const field of FACT_FIELDS) {
    const value = readFact(lead, field);
    if (value !== '') facts[field] = value;
  }
  return facts;
}
