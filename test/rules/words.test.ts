import { expect, test } from 'vitest';
import { phrasesOf, wordsOf } from '../../src/rules/words.ts';

test.each([
  ['case and diacritics', 'Żółta CAFÉ Straße', ['zolta', 'cafe', 'strasse']],
  ['plurals as singulars', 'plumbers agencies boxes', ['plumber', 'agency', 'boxe']],
  ['words that only end like plurals', 'class bus aes', ['class', 'bus', 'aes']],
  ['names of languages', 'C++ and C# (or F#)', ['c++', 'and', 'c#', 'or', 'f#']],
  ['scripts without spaces', '東京の塔', ['東', '京', 'の', '塔']],
  ['nothing', ' …—! ', []],
])('words: %s', (_, text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

test('a very long word is truncated to fit the index', () => {
  expect(wordsOf('x'.repeat(100))).toEqual(['x'.repeat(40)]);
});

test('quoted or joined words form a phrase, all others are separate', () => {
  expect(phrasesOf('"new crm" follow-up soon "open')).toEqual([
    ['new', 'crm'],
    ['follow', 'up'],
    ['soon'],
    ['open'],
  ]);
  expect(phrasesOf('"" - !')).toEqual([]);
});
