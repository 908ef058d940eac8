import { expect, test } from 'vitest';
import { compareAuthors } from '../../src/model/person-keys.ts';

const person = (facts: object) => ({ name: '', email: '', linkedin_url: '', ...facts });

test.each([
  [{ email: 'ann@acme.com' }, { email: 'ANN@acme.com', name: 'Another spelling' }, 'same'],
  [{ email: 'ann@acme.com', name: 'Ann' }, { email: 'bob@acme.com', name: 'Ann' }, 'different'],
  [{ email: 'ann@acme.com' }, { linkedin_url: 'https://linkedin.com/in/ann' }, 'unknown'],
  [{ name: 'José Pérez' }, { name: 'jose  perez' }, 'same'],
  [{ name: '@ann' }, { name: 'u/Ann' }, 'same'],
  [{ name: 'Ann' }, { name: 'Bob' }, 'different'],
  [{ name: 'Ann' }, {}, 'unknown'],
  [{}, {}, 'unknown'],
])('%j and %j: %s', (a, b, expected) => {
  expect(compareAuthors(person(a), person(b))).toBe(expected);
  expect(compareAuthors(person(b), person(a))).toBe(expected);
});
