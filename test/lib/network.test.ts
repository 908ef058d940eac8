import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normaliseDomain } from '../../src/lib/network.ts';

test.each([
  ['acme.com', 'acme.com'],
  ['  ACME.com. ', 'acme.com'],
  ['https://www.Acme.com:8443/about?x=1#y', 'acme.com'],
  ['//acme.com/', 'acme.com'],
  ['Bücher.de', 'xn--bcher-kva.de'],
  ['日本.jp', 'xn--wgv71a.jp'],
  ['uk.acme.com', 'uk.acme.com'],
  ['acme.myshopify.com', 'acme.myshopify.com'],
  ['www.uk.acme.com', 'uk.acme.com'],
  ['www.www.acme.com', 'acme.com'],
  ['www.com', 'www.com'],
  ['www.co.uk', 'www.co.uk'],
])('%j is normalised to %s', (written, domain) => {
  expect(normaliseDomain(written)).toBe(domain);
});

test.each([
  '',
  'acme',
  'a..b',
  '-a.com',
  'a_b.com',
  '1.2.3.4',
  '0x7f.1',
  '[::1]',
  'ann@acme.com',
  'exa mple.com',
  '%61cme.com',
  'acme\\evil.com',
  'cmp_01.com',
  'ftp://acme.com',
  `${'a'.repeat(64)}.com`,
  `${'a.'.repeat(126)}com`,
])('%j contains no domain', (written) => {
  expect(normaliseDomain(written)).toBeNull();
});

test('normalising twice changes nothing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.webUrl(), fc.string()), (written) => {
      const domain = normaliseDomain(written);
      fc.pre(domain !== null);
      expect(normaliseDomain(domain ?? '')).toBe(domain);
    }),
  );
});
