import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tokenize } from '../../src/signals/tokens.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

function wordsOf(text: string): string {
  return tokenize(text).words.join(' ');
}

function stemsOf(text: string): string {
  return tokenize(text).stems.join(' ');
}

/** Words, separated by a bar where there is a break. */
function clauses(text: string): string {
  const { words, breaks } = tokenize(text);
  return words.map((word, i) => (i > 0 && breaks[i] !== breaks[i - 1] ? `| ${word}` : word)).join(' ');
}

test('case, diacritics and the form of apostrophes do not distinguish words', () => {
  expect(wordsOf('Café CAFE\u0301 cafe')).toBe('cafe cafe cafe');
  expect(wordsOf('doesn’t DOESN\u02bcT doesn\uff07t')).toBe("doesn't doesn't doesn't");
  expect(wordsOf('Straße ﬁnance')).toBe('strasse finance');
});

test.each([
  ['companies', 'company'],
  ['taxes', 'tax'],
  ['businesses', 'business'],
  ['churches', 'church'],
  ['caches', 'cache'],
  ['licenses', 'license'],
  ['databases', 'database'],
  ['buses', 'bus'],
  ['shoes', 'shoe'],
  ['heroes', 'hero'],
  ['movies', 'movie'],
  ['analyses', 'analysis'],
  ['statuses', 'status'],
  ['CRMs', 'CRM'],
  ['APIs', 'api'],
  ['apis', 'API'],
  ['CMSs', 'cms'],
  ['women', 'woman'],
])('%s and %s have the same stem', (plural, singular) => {
  expect(stemsOf(plural)).toBe(stemsOf(singular));
});

test.each([
  ['news', 'new'],
  ['goods', 'good'],
  ['business', 'busines'],
  ['ATS', 'AT'],
  ['this', 'thi'],
])('%s is not a plural of %s', (word, other) => {
  expect(stemsOf(word)).not.toBe(stemsOf(other));
});

test('a possessive is not part of the quoted word', () => {
  const { words, stems, starts, ends, text } = tokenize('Acme’s offer, what’s new?');
  expect(words).toEqual(["acme's", 'offer', "what's", 'new']);
  expect(stems).toEqual(['acme', 'offer', 'what', 'new']);
  expect(text.slice(starts[0], ends[0])).toBe('Acme');
});

test('an elided article is a separate word, a name with an apostrophe is a single one', () => {
  expect(wordsOf("l'entreprise qu’un O'Reilly rock'n'roll")).toBe("l entreprise qu un o'reilly rock'n'roll");
  expect(stemsOf("O'Reilly")).toBe(stemsOf('OReilly'));
});

test('scripts without spaces are read character by character', () => {
  expect(wordsOf('我们要CRM软件')).toBe('我 们 要 crm 软 件');
});

test('ends of clauses separate words, joiners and quotes do not', () => {
  expect(clauses('help-desk node.js 24/7 the "best" **CRM** software')).toBe(
    'help desk node js 24 7 the best crm software',
  );
  expect(clauses('a CRM. Software, really (truly)\n\nNow - this — that')).toBe(
    'a crm | software | really | truly | now | this | that',
  );
  expect(clauses('one\nline')).toBe('one line');
});

test('every word is at its offsets', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
      const { words, starts, ends, breaks } = tokenize(text);
      let last = 0;
      words.forEach((_, i) => {
        const [start = -1, end = -1] = [starts[i], ends[i]];
        expect(start).toBeGreaterThanOrEqual(last);
        expect(end).toBeGreaterThan(start);
        expect(text.slice(start, end)).toMatch(/^[\p{L}\p{N}]/u);
        last = end;
      });
      expect(breaks).toEqual([...breaks].sort((a, b) => a - b));
    }),
  );
});

test.each(['a ', "'", "x'", "l'", '—', '😀', '软', 'e\u0301', '- ', '\u200d'])(
  'a text of the greatest length of %j is read in milliseconds',
  (unit) => {
    const text = unit.repeat(20_000 / [...unit].length);
    tokenize(text);
    expect(cpuMsOf(() => tokenize(text))).toBeLessThan(50);
  },
);
