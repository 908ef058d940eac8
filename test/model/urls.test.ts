import { expect, test } from 'vitest';
import { normaliseDomain } from '../../src/lib/network.ts';
import { linkedinProfile } from '../../src/model/person-keys.ts';
import { webUrl } from '../../src/model/text.ts';
import { canonicalUrl } from '../../src/signals/origin.ts';
import { whereOf } from '../../src/signals/why.ts';

/** Parsing it takes 10 ms: time proportional to the square of its length. */
const host = Array.from({ length: 2_000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('');
const url = `https://${host}`;

test('hosts longer than any name are not accepted in URLs and domains of requests', () => {
  expect(webUrl.safeParse(url).success).toBe(false);
  expect(normaliseDomain(`${host}.com`)).toBeNull();
});

test('URLs with such hosts that were stored before are not parsed', () => {
  expect(canonicalUrl(url)).toBeNull();
  expect(linkedinProfile(`${url}.linkedin.com/in/x`)).toBeNull();
  expect(whereOf({ name: 'forum', post_url: url })).toBe('Forum');
});

test.each([
  ['  https://example.com/a b  ', 'https://example.com/a b'],
  ['https://exam\tple.com/\r\n', 'https://example.com/'],
])('a URL is trimmed, and loses what parsers ignore: %j', (given, kept) => {
  expect(webUrl.parse(given)).toBe(kept);
});

test.each(['http:example.com', 'https:/example.com', 'ftp://example.com', '/path', ''])(
  'is no URL on the web: %j',
  (text) => {
    expect(webUrl.safeParse(text).error?.issues[0]?.message).toBe('must be an http or https URL');
  },
);
