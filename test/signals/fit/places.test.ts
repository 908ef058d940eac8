import fc from 'fast-check';
import { expect, test } from 'vitest';
import TABLE from '../../../data/words/places.json' with { type: 'json' };
import { comparePlaces, readPlace } from '../../../src/signals/fit.ts';

test.each([
  ['Austin, Texas', 'US', 'fits'],
  ['Austin, TX', 'United States', 'fits'],
  ['U.S.', 'USA', 'fits'],
  ['Greater Munich area', 'Germany', 'fits'],
  ['München', 'Deutschland', 'fits'],
  ['München, Bayern', 'DACH', 'fits'],
  ['Leeds, UK', 'United Kingdom', 'fits'],
  ['London', 'Europe', 'fits'],
  ['London', 'EU', 'does_not_fit'],
  ['Atlanta, Georgia', 'US', 'fits'],
  ['Tbilisi, Georgia', 'Georgia', 'fits'],
  ['Paris, Texas', 'France', 'does_not_fit'],
  ['San Francisco, CA', 'Canada', 'does_not_fit'],
  ['Toronto, CA', 'Canada', 'fits'],
  ['Spain', 'UK', 'does_not_fit'],
  ['Texas', 'California', 'does_not_fit'],
  ['United States', 'Texas', 'unknown'],
  ['Europe', 'Germany', 'unknown'],
  ['US and Canada', 'North America', 'fits'],
  ['US and Canada', 'US', 'unknown'],
  ['Remote', 'US', 'unknown'],
  ['us', 'US', 'unknown'],
  ['Remote, US', 'US', 'fits'],
  ['Côte d’Ivoire', 'Africa', 'fits'],
])('%s within %s: %s', (fact, wanted, verdict) => {
  expect(comparePlaces(readPlace(fact), readPlace(wanted))).toBe(verdict);
});

/** The names of the table, and those of all countries. */
const NAMES = [
  ...new Set([
    ...Object.values(TABLE.parts).flat(),
    ...Object.values(TABLE.cities).flat(),
    ...Object.keys(TABLE.regions),
    ...['Singapore', 'Georgia', 'Mexico', 'Luxembourg', 'Monaco', 'Djibouti', 'Guatemala'],
  ]),
];

test('any names, repeated to the maximum length, have a few meanings', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }), (names) => {
      const repeated = `${names.join(', ')}, `.repeat(300).slice(0, 300);
      const area = readPlace(repeated);
      expect(area.length).toBeLessThanOrEqual(8);
    }),
    { examples: [[['Singapore']]], numRuns: 300 },
  );
});

test('a repeated name means the same as one', () => {
  expect(readPlace('Singapore '.repeat(10))).toEqual(readPlace('Singapore'));
});
