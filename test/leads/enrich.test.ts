import { expect, test } from 'vitest';
import { conclude, concludeAgain } from '../../src/leads/enrich.ts';
import { blankLead, type Facts, fillFacts, identityKeys, setFact, vouchFor } from '../../src/leads/facts.ts';
import type { FactField, Lead } from '../../src/model/lead.ts';
import { factsOf } from '../support/facts-of.ts';

function given(facts: Facts): Lead {
  return fillFacts(blankLead('led_1', 0), vouchFor(facts, 'request', 1), 0);
}

const concluded = (facts: Facts) => factsOf(conclude(given(facts), 1));

test('a company email address gives the company, and a spelled-out one also the name', () => {
  expect(concluded({ email: 'jane.doe@acme.com' })).toEqual({
    email: 'jane.doe@acme.com',
    'company.domain': 'acme.com',
    name: 'Jane Doe',
    first_name: 'Jane',
    last_name: 'Doe',
  });
});

test('a free-mail address gives no company, and a role address no name', () => {
  expect(concluded({ email: 'jane.doe@gmail.com' })).not.toHaveProperty(['company.domain']);
  expect(concluded({ email: 'sales.team@acme.com' })).toEqual({
    email: 'sales.team@acme.com',
    'company.domain': 'acme.com',
  });
});

test('known facts are never replaced by derived ones', () => {
  const facts: Facts = {
    email: 'jane.doe@acme.com',
    name: 'J. Doe-Smith',
    last_name: 'Smith',
    title: 'CTO',
    seniority: 'founder',
    'company.domain': 'other.com',
  };
  expect(concluded(facts)).toEqual({ ...facts, department: 'engineering' });
});

test('deriving facts twice gives the same result as once', () => {
  const once = conclude(given({ email: 'jane.doe@acme.com', title: 'VP Sales' }), 1);
  expect(conclude(once, 2)).toEqual(once);
});

test('a name derived from an address is not an identity, but a given one is', () => {
  const guessed = conclude(given({ email: 'jane.doe@acme.com' }), 1);
  expect(identityKeys(guessed)).toEqual(['email:jane.doe@acme.com']);
  const known = conclude(given({ email: 'jane.doe@acme.com', name: 'Jane Doe' }), 1);
  expect(identityKeys(known)).toEqual(['email:jane.doe@acme.com', 'name:jane doe@acme.com']);
});

test.each<[FactField, string, Facts]>([
  ['title', 'Head of Sales', { seniority: 'head', department: 'sales', first_name: 'Jane' }],
  ['title', '', { first_name: 'Jane' }],
  ['name', 'Ann van Dyk', { first_name: 'Ann', last_name: 'van Dyk', seniority: 'c_suite' }],
  ['name', '', { seniority: 'c_suite' }],
])('facts are derived again from a changed %s (%j)', (field, value, expected) => {
  const before = conclude(given({ name: 'Jane Doe', title: 'CTO' }), 1);
  const changed = setFact(before, { field, value, source: 'request', confidence: 1 }, 2);
  const { name: _, title: __, ...facts } = factsOf(concludeAgain(changed, new Set([field]), 2));
  expect(facts).toMatchObject(expected);
  if (field === 'name' && value === '') expect(facts).not.toHaveProperty('first_name');
  if (field === 'title' && value === '') expect(facts).not.toHaveProperty('seniority');
});

test('facts set by the caller are not derived again', () => {
  const set = fillFacts(given({ name: 'Jane Doe', seniority: 'owner' }), [], 1);
  const changed = setFact(set, { field: 'title', value: 'Intern', source: 'request', confidence: 1 }, 2);
  expect(concludeAgain(changed, new Set<FactField>(['title']), 2).seniority).toBe('owner');
});
