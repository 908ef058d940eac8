import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linkedinProfile, nameKey, personKeys } from '../../src/model/person-keys.ts';

test.each([
  'https://www.linkedin.com/in/jane-doe',
  'http://linkedin.com/in/jane-doe/',
  'linkedin.com/in/Jane-Doe',
  'https://de.linkedin.com/in/jane-doe?trk=public',
  'https://m.linkedin.com/in/jane-doe/#about',
  'https://www.linkedin.com/mwlite/in/jane-doe',
  'https://www.linkedin.com/in/jane-doe/de',
  'https://www.linkedin.com/in/jane-doe/overlay/contact-info/',
  ' https://www.LinkedIn.com/in/jane%2Ddoe ',
])('%j is a profile', (url) => {
  expect(linkedinProfile(url)).toBe('in/jane-doe');
});

test('percent-encoded letters are equivalent to literal ones', () => {
  expect(linkedinProfile('https://linkedin.com/in/j%C3%BCrgen')).toBe(
    linkedinProfile('https://linkedin.com/in/jürgen'),
  );
  expect(linkedinProfile('https://linkedin.com/in/100%')).toBe('in/100%');
});

test.each([
  ['https://www.linkedin.com/pub/jane-doe/1a/2b3/45c', 'pub/jane-doe/1a/2b3/45c'],
  ['https://www.linkedin.com/pub/jane-doe/1a/2b3/45d', 'pub/jane-doe/1a/2b3/45d'],
])('%s is a different, old profile', (url, profile) => {
  expect(linkedinProfile(url)).toBe(profile);
});

test.each([
  '',
  'jane-doe',
  'https://www.linkedin.com/',
  'https://www.linkedin.com/in/',
  'https://www.linkedin.com/company/acme',
  'https://www.linkedin.com/posts/jane-doe_hello',
  'https://notlinkedin.com/in/jane-doe',
  'https://linkedin.com.evil.com/in/jane-doe',
  'javascript:alert(1)',
  'https://linkedin.com/in/a%00b',
  'https://linkedin.com/in/%0a',
  // Longer than an entry of PostgreSQL's indexes.
  `https://linkedin.com/in/${'測'.repeat(1_900)}`,
  `https://linkedin.com/pub/a/b/c/${'測'.repeat(600)}`,
])('%j is not a profile', (url) => {
  expect(linkedinProfile(url)).toBeNull();
});

test('addresses are compared ignoring case and white space; plus addresses are distinct', () => {
  const key = (email: string) => personKeys({ email, linkedin_url: '' });
  expect(key(' Jane@ACME.com ')).toEqual(['email:jane@acme.com']);
  expect(key('sales+north@acme.com')).not.toEqual(key('sales+south@acme.com'));
  expect(key('')).toEqual([]);
});

test.each([
  ['Jane Doe', 'acme.com', 'name:jane doe@acme.com'],
  ['  JANE   Doé ', 'www.acme.com', 'name:jane doe@acme.com'],
  ['Jane Doe', 'uk.acme.co.uk', 'name:jane doe@acme.co.uk'],
  ['Jane Doe', 'shop-a.myshopify.com', 'name:jane doe@shop-a.myshopify.com'],
  ['राम', 'acme.in', 'name:राम@acme.in'],
])('%j at %s is %s', (name, domain, key) => {
  expect(nameKey(name, domain)).toBe(key);
});

test.each([
  ['', 'acme.com'],
  ['???', 'acme.com'],
  ['Jane Doe', ''],
  ['Jane Doe', 'acme'],
])('%j at %j has no key', (name, domain) => {
  expect(nameKey(name, domain)).toBeNull();
});

test('names that differ only in vowel signs are different people', () => {
  expect(nameKey('राम', 'acme.in')).not.toBe(nameKey('रमा', 'acme.in'));
});

test('the URL of a profile found in any text yields the same profile', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webUrl(),
        fc.string(),
        fc.string().map((s) => `linkedin.com/in/${s}`),
      ),
      (text) => {
        const profile = linkedinProfile(text);
        fc.pre(profile !== null && !profile.includes('%'));
        expect(
          linkedinProfile(`https://www.linkedin.com/${profile.split('/').map(encodeURIComponent).join('/')}`),
        ).toBe(profile);
      },
    ),
  );
});
