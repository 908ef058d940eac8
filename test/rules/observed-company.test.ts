import { expect, test } from 'vitest';
import { factInForce } from '../../src/model/company-facts.ts';
import { activityOf, observeCompany } from '../../src/rules/signals.ts';
import { T0 } from '../support/store.ts';

const observed = (name: string) => ({
  id: 'cmp_1',
  company: { domain: 'a.example', name, industry: '', headcount: '', location: '' },
});
const signal = (id: string, timestamp: number) => ({ id, tenantId: 'ten_a', timestamp });

test('a signal creates an unknown company, and updates a known one', () => {
  const made = observeCompany(null, observed('Acme'), signal('sig_1', T0));
  expect(made).toMatchObject({
    id: 'cmp_1',
    tenantId: 'ten_a',
    domain: 'a.example',
    version: 1,
    createdAt: T0,
  });
  const told = observeCompany(made, observed('Acme Ltd'), signal('sig_2', T0 + 5));
  expect(told).toMatchObject({ id: 'cmp_1', version: 2, createdAt: T0, updatedAt: T0 + 5 });
  expect(told && factInForce(told.facts, 'name')?.value).toBe('Acme Ltd');
});

test('a signal without new facts changes nothing', () => {
  const made = observeCompany(null, observed('Acme'), signal('sig_1', T0));
  expect(observeCompany(made, observed('Acme'), signal('sig_2', T0 + 5))).toBeNull();
});

test('a burst of signals counts as one activity', () => {
  expect(activityOf(T0 + 3_599_999)).toBe(activityOf(T0));
  expect(activityOf(T0 + 3_600_000)).toBe(T0 + 3_600_000);
});
