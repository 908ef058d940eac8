import { expect, test } from 'vitest';
import { readMailbox, splitName } from '../../src/leads/enrich.ts';

test.each([
  ['Jane Doe', 'Jane', 'Doe'],
  ['  Jane   van  Dyk ', 'Jane', 'van Dyk'],
  ['Doe, Jane', 'Jane', 'Doe'],
  ['Dr. Jane Doe, PhD', 'Jane', 'Doe'],
  ['Prof. Dr. Jürgen Müller', 'Jürgen', 'Müller'],
  ['John Smith Jr.', 'John', 'Smith'],
  ["Sinéad O'Connor-Ní Bhriain", 'Sinéad', "O'Connor-Ní Bhriain"],
  ['Иван Петров', 'Иван', 'Петров'],
])('%j is %s, %s', (name, first, last) => {
  expect(splitName(name)).toEqual({ first, last });
});

test.each(['', 'Madonna', 'plumber_42', 'u/hvac guy', 'hvac4life pro', '张伟', 'Dr. Who'])(
  '%j is not split',
  (name) => {
    expect(splitName(name)).toBeNull();
  },
);

test.each([
  ['jane.doe@acme.com', { isFree: false, isRole: false, name: { first: 'Jane', last: 'Doe' } }],
  [
    'jean_pierre-louis@acme.com',
    { isFree: false, isRole: false, name: { first: 'Jean', last: 'Pierre-Louis' } },
  ],
  ['jane.doe+crm@gmail.com', { isFree: true, isRole: false, name: { first: 'Jane', last: 'Doe' } }],
  ['info@acme.com', { isFree: false, isRole: true, name: null }],
  ['sales.team@acme.com', { isFree: false, isRole: true, name: null }],
  ['no-reply@acme.com', { isFree: false, isRole: true, name: null }],
  ['jdoe@acme.com', { isFree: false, isRole: false, name: null }],
  ['j.doe@acme.com', { isFree: false, isRole: false, name: null }],
  ['jane.doe@gmx.de', { isFree: true, isRole: false }],
  ['a@example.com', { isFree: false }],
])('%s is parsed', (email, expected) => {
  expect(readMailbox(email)).toMatchObject(expected);
});

test.each(['', '@acme.com', 'jane'])('%j is not an email address', (email) => {
  expect(readMailbox(email)).toBeNull();
});
