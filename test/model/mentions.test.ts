import { expect, test } from 'vitest';
import { isFullName, maskJson, maskMentions, mentionPattern } from '../../src/model/mentions.ts';

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

test('an empty list of texts has no pattern', () => {
  expect(mentionPattern([])).toBeNull();
});

test('a full name has two to eight words', () => {
  expect(isFullName('Jane')).toBe(false);
  expect(isFullName('Jane Doe')).toBe(true);
  expect(isFullName('Maria de los Angeles von und zu Liechtenstein')).toBe(true);
  expect(isFullName('word '.repeat(9))).toBe(false);
});
