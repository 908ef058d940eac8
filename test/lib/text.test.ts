import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codePointLength, excerpt } from '../../src/lib/text.ts';

test('a short text is its own excerpt', () => {
  expect(excerpt('Hello there', 500)).toBe('Hello there');
});

test('a long text is cut at a word and ends in an ellipsis', () => {
  expect(excerpt('one two three four', 10)).toBe('one two…');
});

test('a cut that falls between two words keeps the word before it', () => {
  expect(excerpt('one two three', 8)).toBe('one two…');
});

test('a single endless word is cut in the word', () => {
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
])('%s is cut at a character and fills the excerpt', (_what, text) => {
  const cut = excerpt(text, 500);
  expect(codePointLength(cut)).toBeGreaterThan(495);
  expect(codePointLength(cut)).toBeLessThanOrEqual(500);
  expect(text.startsWith(cut.slice(0, -1))).toBe(true);
});

test('a character of several code points is left out rather than cut', () => {
  expect(excerpt('👩‍👩‍👧‍👦'.repeat(4), 10)).toBe('👩‍👩‍👧‍👦…');
  expect(excerpt('e\u0301'.repeat(10), 6)).toBe('e\u0301e\u0301…');
});

test('an excerpt never has more code points than asked for', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 40 }), (text, max) => {
      const cut = excerpt(text, max);
      expect(codePointLength(cut)).toBeLessThanOrEqual(max);
      expect(cut.isWellFormed()).toBe(true);
      if (codePointLength(text) <= max) expect(cut).toBe(text);
    }),
  );
});
