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
