import { expect, test } from 'vitest';
import {
  isFullName,
  maskJson,
  maskMentions,
  mentionPattern,
  mentionsInJson,
} from '../../src/model/mentions.ts';

const pattern = mentionPattern(['jane@acme.com', 'linkedin.com/in/jane', 'j.d-e+x@a-b.com']) ?? /never/u;

test.each([
  ['Write to Jane@Acme.com.', 'Write to █████████████.'],
  ['<jane@acme.com>,jane@acme.com', '<█████████████>,█████████████'],
  ['https://www.linkedin.com/in/jane/', 'https://www.████████████████████/'],
  ['(j.d-e+x@a-b.com)', `(${'█'.repeat(15)})`],
  ['jxd-e+x@a-b.com', 'jxd-e+x@a-b.com'],
  ['mary-jane@acme.com', 'mary-jane@acme.com'],
  ['mary.jane@acme.com', 'mary.jane@acme.com'],
  ['jane@acme.com.au', 'jane@acme.com.au'],
  ['linkedin.com/in/jane-doe', 'linkedin.com/in/jane-doe'],
  ['notlinkedin.com/in/jane', 'notlinkedin.com/in/jane'],
])('%j becomes %j', (text, masked) => {
  expect(maskMentions(text, pattern)).toBe(masked);
});

test('changes only the strings in JSON, at any depth and with any escapes', () => {
  const json = JSON.stringify({ a: ['\njane@acme.com', 1, null], b: { c: '"jane@acme.com"' } });
  expect(JSON.parse(maskJson(json, pattern))).toEqual({
    a: [`\n${'█'.repeat(13)}`, 1, null],
    b: { c: `"${'█'.repeat(13)}"` },
  });
});

test.each([
  [{ a: ['', { b: '\n"jane@acme.com"' }] }, true],
  [{ a: ['mary-jane@acme.com', 1, null, true] }, false],
  [{ 'jane@acme.com': 1 }, false],
])('finds mentions in the strings of %j', (value, isMentioned) => {
  expect(mentionsInJson(JSON.stringify(value), pattern)).toBe(isMentioned);
  expect(mentionsInJson(JSON.stringify(value), pattern)).toBe(isMentioned);
});

// Compiling the bounds again for each of twenty names took 24 ms, several times for each person.
test('the bounds of a kind are written once, and no text is hidden by another one that is its beginning', () => {
  const names = ['Ann Lee', 'Ann Lee Smith', 'Bo Li'];
  const all = mentionPattern(['a@b.co', 'a@b.com', 'a', 'linkedin.com/in/a'], names) ?? /never/u;
  expect(all.source.split('(?<!')).toHaveLength(1 + 3);
  const mask = (text: string) => maskMentions(text, all);
  expect(mask('a@b.com, a@b.co, a, ab, linkedin.com/in/a')).toBe(
    `${'█'.repeat(7)}, ${'█'.repeat(6)}, █, ab, ${'█'.repeat(17)}`,
  );
  expect(mask('Ann Lee Smith, Ann LeeSmith, Lee,Ann, Bo-Li')).toBe(
    `${'█'.repeat(7)} Smith, Ann LeeSmith, ${'█'.repeat(7)}, ${'█'.repeat(5)}`,
  );
});

test('spellings with the same words are searched for once', () => {
  expect(mentionPattern([], ['Ann\u{A0}Lee'])?.source).toBe(mentionPattern([], ['Ann Lee'])?.source);
});

test('an empty list of texts has no pattern', () => {
  expect(mentionPattern([])).toBeNull();
});

test('a full name has two to eight words', () => {
  expect(isFullName('Jane')).toBe(false);
  expect(isFullName('Jane Doe')).toBe(true);
  expect(isFullName('Maria de los Angeles von und zu Liechtenstein')).toBe(true);
  expect(isFullName('word '.repeat(9))).toBe(false);
  // Each of the last characters stands for four words: they took milliseconds to compile, for each of twenty names.
  expect(isFullName('Jane \u{FDFA}')).toBe(true);
  expect(isFullName(`Jane Doe${'\u{FDFA}'.repeat(100)}`)).toBe(false);
});
