import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  COMPANY_FACTS,
  type CompanyFact,
  factInForce,
  NO_FACTS,
  observeFacts,
  setFacts,
} from '../../src/model/company-facts.ts';

const OBSERVED = ['name', 'industry', 'headcount', 'location'] as const;
const values = fc.constantFrom('a', 'b', 'c');

/** Each step is a signal, which may lack a field, or a caller, who may remove a value. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('observe' as const),
    says: fc.record(Object.fromEntries(OBSERVED.map((field) => [field, fc.oneof(values, fc.constant(''))]))),
  }),
  fc.record({
    kind: fc.constant('set' as const),
    says: fc.record(
      Object.fromEntries(COMPANY_FACTS.map((field) => [field, fc.oneof(values, fc.constant(null))])),
      { requiredKeys: [] },
    ),
  }),
);

/** Only the last value of each kind counts. */
function expected(
  steps: { kind: string; says: Record<string, string | null | undefined> }[],
  field: CompanyFact,
) {
  const words = (kind: string) => steps.flatMap(({ kind: of, says }) => (of === kind ? [says[field]] : []));
  const set = words('set').findLast((word) => word !== undefined);
  if (set !== undefined && set !== null) return { source: 'manual', value: set };
  const seen = words('observe').findLast((word) => word !== undefined && word !== '');
  return seen === undefined ? null : { source: 'signal', value: seen };
}

test('the last manual value takes precedence over observed ones', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let facts = NO_FACTS;
      for (const [index, { kind, says }] of steps.entries()) {
        const before = facts;
        const company = { domain: 'acme.com', name: '', industry: '', headcount: '', location: '', ...says };
        facts =
          kind === 'set'
            ? setFacts(facts, says, index)
            : observeFacts(facts, company, { signalId: `sig_${index}`, at: index });
        // Without new values, nothing is written.
        if (JSON.stringify(facts) === JSON.stringify(before)) expect(facts).toBe(before);
      }
      for (const field of COMPANY_FACTS) {
        const inForce = factInForce(facts, field);
        expect(inForce && { source: inForce.source, value: inForce.value }).toEqual(expected(steps, field));
      }
    }),
  );
});

test('a value keeps the signal and the time of its first observation', () => {
  const company = { domain: 'acme.com', name: 'Acme', industry: '', headcount: '', location: '' };
  const first = observeFacts(NO_FACTS, company, { signalId: 'sig_1', at: 1 });
  expect(observeFacts(first, company, { signalId: 'sig_2', at: 2 })).toBe(first);
  expect(factInForce(first, 'name')).toMatchObject({ signalId: 'sig_1', at: 1 });
});
