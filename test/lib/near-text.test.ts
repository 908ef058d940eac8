import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isNearText, nearKeys, readNearText } from '../../src/lib/near-text.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

const isNear = (a: string, b: string) => isNearText(readNearText(a), readNearText(b));

const TEXT =
  'We are a team of twelve plumbers and look for a booking system that also sends invoices. The old one loses jobs ' +
  'every week, and nobody answers the phone. Which one do you use, and what does it cost you?';

/** Whether two texts are recognised as near-duplicates: they share a key and are similar. */
function areOne(a: string, b: string): boolean {
  const keys = new Set(nearKeys(a));
  return nearKeys(b).some((key) => keys.has(key)) && isNear(a, b);
}

test.each([
  ['another case and other punctuation', TEXT.toUpperCase().replaceAll(',', ' –')],
  ['an added link', `${TEXT} https://forum.example/t/1?utm_source=x`],
  ['a word of thanks', `${TEXT} Thanks a lot!`],
  ['a changed word', TEXT.replace('twelve', 'many')],
  ['a heading', `Booking system?\n\n${TEXT}`],
])('a text is a near-duplicate with %s', (_, other) => {
  expect(areOne(TEXT, other)).toBe(true);
});

test.each([
  ['half of it', TEXT.slice(0, TEXT.length / 2)],
  ['the same words in another order', TEXT.split(' ').reverse().join(' ')],
  ['another text', 'Nice weather on site today, lads.'],
  ['nothing', ''],
])('a text is not a near-duplicate of %s', (_, other) => {
  expect(areOne(TEXT, other)).toBe(false);
});

test('texts with different numbers are not near-duplicates', () => {
  expect(areOne(`${TEXT} Street 5.`, `${TEXT} Street 6.`)).toBe(false);
});

test('a different word in a short text makes it different, a different spelling does not', () => {
  const wish = (thing: string) => `We are looking for a new ${thing} this month, any recommendations?`;
  expect(isNear(wish('CRM'), wish('van'))).toBe(false);
  expect(isNear(wish('dispatcher'), wish('dispacher'))).toBe(true);
});

/** Whether at most one word in twenty is replaced; each word is compared with each. */
function keepsWords(a: readonly string[], b: readonly string[]): boolean {
  const isSpelling = (one: string, other: string) => {
    let same = 0;
    while (same < one.length && one[same] === other[same]) same++;
    return same * 2 >= Math.max(one.length, other.length);
  };
  const onlyA = [...new Set(a)].filter((word) => !b.includes(word));
  const onlyB = [...new Set(b)].filter((word) => !a.includes(word));
  const strange = onlyA.filter((word) => !onlyB.some((other) => isSpelling(word, other)));
  return Math.min(strange.length, onlyB.length) * 20 <= Math.min(a.length, b.length);
}

test('words are other spellings if they share half of the longer one, of whatever length', () => {
  const words = Array.from(
    { length: 40 },
    (_, i) => `w${String.fromCharCode(97 + (i % 26))}${'q'.repeat(i)}`,
  );
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '\u{20000}'), minLength: 1, maxLength: 7 });
  const three = fc.tuple(word, word, word);
  fc.assert(
    fc.property(three, three, (own, others) => {
      const [a, b] = [own, others].map((some) => readNearText([...words, ...some].join(' ')));
      if (a === undefined || b === undefined) throw new Error('there is no text');
      const shared = [...a.pairs].filter((pair) => b.pairs.has(pair)).length;
      const isShared = shared / (a.pairs.size + b.pairs.size - shared) >= 0.6;
      expect(isNearText(a, b)).toBe(isShared && keepsWords(a.words, b.words));
    }),
    { numRuns: 2_000 },
  );
});

test('texts of very many different words are compared in milliseconds', () => {
  const words = (kind: string, count: number) =>
    Array.from({ length: count }, (_, i) =>
      `${kind}${i}x`.replace(/\d/g, (digit) => 'abcdefghij'[+digit] ?? ''),
    );
  const [a, b] = ['y', 'z'].map((own) =>
    readNearText([...words('w', 40_000), ...words(own, 12_000)].join(' ')),
  );
  if (a === undefined || b === undefined) throw new Error('there is no text');
  expect(a.pairs.size + b.pairs.size).toBeGreaterThan(100_000);
  expect(cpuMsOf(() => isNearText(a, b))).toBeLessThan(300);
});

test('recognises texts of a single word and texts without spaces', () => {
  expect(areOne('CRM?', 'crm')).toBe(true);
  expect(areOne('我们正在寻找新的软件系统请推荐', '我们正在寻找新的软件系统请推荐吧')).toBe(true);
});

test('recognises nearly all texts of fifty words after one word has changed', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{3,8}$/), { minLength: 50, maxLength: 50 });
  const texts = fc.sample(words, { numRuns: 300, seed: 1 });
  const found = texts.filter((text) => areOne(text.join(' '), text.with(20, 'changed').join(' ')));
  expect(found.length).toBeGreaterThanOrEqual(295);
});

test('ASCII text is split into the same words alone as within mixed text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
      expect([...readNearText(`${text} `).words, 'e']).toEqual(readNearText(`${text} \u00e9`).words);
    }),
  );
});

test('keys are integers of at most 48 bits', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      for (const key of nearKeys(text)) {
        expect(Number.isSafeInteger(key)).toBe(true);
        expect(key).toBeLessThan(2 ** 48);
        expect(key).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});
