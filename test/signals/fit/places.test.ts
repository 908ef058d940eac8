import { expect, test } from 'vitest';
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
