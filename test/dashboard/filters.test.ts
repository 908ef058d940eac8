import { expect, test } from 'vitest';
import { filtersOf } from '../../src/dashboard/forms.ts';
import { leadFilters } from '../../src/model/lead.ts';
import { signalFilters } from '../../src/model/signal.ts';

test('a screen reads its filters like /v1, and ignores everything else in its URL', () => {
  const query = { stage: ['new', 'won'], source: 'Import, Web', email: ' Jane@Acme.example' };
  expect(filtersOf(leadFilters, { ...query, done: 'saved', cursor: 'x' })).toEqual({
    filters: leadFilters.toFilters(leadFilters.query.parse(query)),
    filterFaults: [],
  });
});

test('a time from a browser without a zone is UTC', () => {
  const { filters } = filtersOf(signalFilters, { from: '2026-01-31T09:30', to: '2026-02-01T00:00:00+01:00' });
  expect([filters.from, filters.to]).toEqual([Date.UTC(2026, 0, 31, 9, 30), Date.UTC(2026, 0, 31, 23)]);
});

test('invalid filters are ignored and named, and the others apply', () => {
  const many = Array.from({ length: 50 }, () => 'lukewarm');
  const query = { classification: many, min_score: '101', sort: 'upwards', q: 'crm' };
  const { filters, filterFaults } = filtersOf(signalFilters, query);
  expect(filters).toEqual({ ...signalFilters.of({}), q: 'crm' });
  expect(filterFaults).toEqual([
    '"classification" must be one of "hot", "warm", "cold".',
    '"min_score" must be a whole number from 0 to 100.',
    '"sort" must be one of "-timestamp", "timestamp", "-icp_score".',
  ]);
});
