import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  codePointLength,
  excerpt,
  fold,
  normalised,
  parseUrl,
  withoutTrailingSlashes,
} from '../../src/lib/text.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

test('a short text is its own excerpt', () => {
  expect(excerpt('Hello there', 500)).toBe('Hello there');
});

test('a long text is cut at a word and ends in an ellipsis', () => {
  expect(excerpt('one two three four', 10)).toBe('one two…');
});

test('a cut that falls between two words keeps the word before it', () => {
  expect(excerpt('one two three', 8)).toBe('one two…');
});

test('a single very long word is cut within the word', () => {
  expect(excerpt('a'.repeat(20), 5)).toBe('aaaa…');
});

test('an emoji counts as one and is never cut in two', () => {
  expect(excerpt('😀'.repeat(10), 4)).toBe('😀😀😀…');
});

test.each([
  ['Chinese', '我们正在找一个新的排班软件，'.repeat(50)],
  ['Japanese after a greeting', `こんにちは 新しい${'予約システムを探しています。'.repeat(50)}`],
  ['Thai', 'กำลังมองหาซอฟต์แวร์จัดตารางงาน'.repeat(30)],
  ['a long link', `See https://forum.example/${'a'.repeat(600)}`],
  ['a long link on a line of its own', `\n${'https://forum.example/'.repeat(40)}`],
])('%s is cut between graphemes and fills the excerpt', (_what, text) => {
  const cut = excerpt(text, 500);
  expect(codePointLength(cut)).toBeGreaterThan(495);
  expect(codePointLength(cut)).toBeLessThanOrEqual(500);
  expect(text.startsWith(cut.slice(0, -1))).toBe(true);
});

test('a grapheme of several code points is omitted rather than cut', () => {
  expect(excerpt('👩‍👩‍👧‍👦'.repeat(4), 10)).toBe('👩‍👩‍👧‍👦…');
  expect(excerpt('e\u0301'.repeat(10), 6)).toBe('e\u0301e\u0301…');
});

test('an excerpt never exceeds the maximum number of code points', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 40 }), (text, max) => {
      const cut = excerpt(text, max);
      expect(codePointLength(cut)).toBeLessThanOrEqual(max);
      expect(cut.isWellFormed()).toBe(true);
      if (codePointLength(text) <= max) expect(cut).toBe(text);
    }),
  );
});

test.each(['NFC', 'NFD', 'NFKC', 'NFKD'] as const)(
  '%s of ordinary text matches String.prototype.normalize',
  (form) => {
    const word = fc.stringMatching(/^[\p{L}\p{N}]{1,5}[\p{M}\uff9e\uff9f]{0,30}$/u);
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), (words) => {
        const text = words.join(' ');
        expect(normalised(text, form)).toBe(text.normalize(form));
      }),
    );
  },
);

test('a run of 30 combining marks is kept, longer runs are shortened', () => {
  const run = (marks: number) => `x${'\u0301'.repeat(marks)}y`;
  expect(normalised(run(30), 'NFD')).toBe(run(30));
  expect(normalised(run(31), 'NFD')).toBe(run(30));
});

test.each([
  ['marks in the wrong order', `a${'\u0300'.repeat(50_000)}${'\u0334'.repeat(50_000)}`],
  ['marks of every class', `a${'\u0300\u0334\u0323\u302a\u0315'.repeat(20_000)}`],
  ['letters that turn into marks', `a${'\u0300'.repeat(50_000)}${'\uff9e'.repeat(50_000)}`],
  ['marks between letters that turn into marks', `a${`${'\u0300'.repeat(29)}\uff9e`.repeat(3_333)}`],
  ['marks beyond the Basic Multilingual Plane', `a${'\u0300'.repeat(50_000)}${'\u{1e8d0}'.repeat(25_000)}`],
  ['runs of 30', `a${'\u0300'.repeat(15)}${'\u0334'.repeat(15)}`.repeat(3_200)],
])('a text of 100,000 %s is normalised in milliseconds', (_what, text) => {
  for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'] as const)
    expect(cpuMsOf(() => normalised(text, form))).toBeLessThan(250);
  expect(cpuMsOf(() => fold(text))).toBeLessThan(250);
  expect(fold(text).replaceAll('a', '')).toBe('');
});

test('only trailing slashes are removed from a path', () => {
  const paths = ['', '/', '//', '/a', '/a/', '/a///', '/a//b/', '//x'];
  expect(paths.map(withoutTrailingSlashes)).toEqual(['', '', '', '/a', '/a', '/a', '/a//b', '//x']);
});

test('text consisting of ligatures grows at most fourfold, and Korean text is not truncated', () => {
  expect(normalised('\ufdfa'.repeat(20_000), 'NFKD')).toHaveLength(80_000);
  const korean = '한'.repeat(20_000);
  expect(normalised(korean, 'NFKD')).toBe(korean.normalize('NFKD'));
  expect(normalised('\ufdfa', 'NFKD')).toBe('\ufdfa'.normalize('NFKD'));
});

describe('a URL from outside', () => {
  // Different characters beyond ASCII, which take time proportional to the square of their number.
  const host = Array.from({ length: 2_000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('');

  test.each([
    ['https://user:word@example.com:8443/a?b#c', 'example.com'],
    [' https://example.com', 'example.com'],
    ['https:example.com', 'example.com'],
    ['https:\\\\example.com', 'example.com'],
    ['https://bücher.example', 'xn--bcher-kva.example'],
    [`https://example.com/${host}?${host}#${host}`, 'example.com'],
    ['mailto:someone@example.com', ''],
  ])('is parsed: %s', (text, hostname) => {
    expect(parseUrl(text)?.hostname).toBe(hostname);
  });

  test.each([
    ['after two slashes', `https://${host}`],
    ['without slashes', `https:${host}`],
    ['after backslashes', `https:\\\\${host}`],
    ['after a tab', `https:/\t/${host}`],
    ['before a port', `https://${host}:443/`],
    ['after credentials', `https://a:b@${host}`],
    ['with escapes', `https://${encodeURIComponent(host)}`],
  ])('is none with a host of any length %s', (_, text) => {
    expect(URL.canParse(text)).toBe(true);
    expect(parseUrl(text)).toBeNull();
  });

  test('is none if it is relative', () => {
    expect(parseUrl('/path')).toBeNull();
  });
});
