import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { tokenize } from '../../src/signals/tokens.ts';
import { compileLists } from '../support/compile.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

const base = defaultProfile('icp_1', 'ten_1', 0);

function matcherOf(...profiles: Partial<IcpProfile>[]) {
  return compileLists(profiles.map((profile) => ({ ...base, ...profile })));
}

/** The text that is found for a profile with this phrase. */
function found(phrase: string, text: string): string[] {
  const hits = matcherOf({ phrases: [phrase] })
    .match(tokenize(text))
    .get(0);
  return (hits ?? []).map(({ start, end }) => text.slice(start, end));
}

test.each([
  ['CRM', 'which CRMs do you use?', ['CRMs']],
  ['CRMs', 'a crm', ['crm']],
  ['booking system', 'two Booking\n systems', ['Booking\n systems']],
  ['help desk', 'a help-desk', ['help-desk']],
  ['help-desk', 'a help desk', ['help desk']],
  ['café owner', 'Cafe owners', ['Cafe owners']],
  ["O'Reilly", 'O’Reilly and oreilly', ['O’Reilly', 'oreilly']],
  ['Salesforce', 'Salesforce’s price', ['Salesforce']],
  ['customer portal', "the customer's portal", ["customer's portal"]],
  ['Act!', 'We run act! daily', ['act!']],
  ['C++', 'C++ or C', ['C++']],
  ['C#', 'in C#, please', ['C#']],
  ['.NET', 'a .NET shop in the net', ['.NET']],
  ['node.js', 'node.js or Node JS', ['node.js', 'Node JS']],
  ['Yahoo! Mail', 'off Yahoo! Mail', ['Yahoo! Mail']],
  ['"field service"', 'field service', ['field service']],
  ['IT', 'it works with our IT', ['IT']],
  ['IT support', 'we need it support', ['it support']],
  ['软件', '我们要新的软件', ['软件']],
])('the phrase %s in %j is found as %j', (phrase, text, expected) => {
  expect(found(phrase, text)).toEqual(expected);
});

test.each([
  ['act', 'The contact list'],
  ['Act!', 'The act is on'],
  ['CRM software', 'We have a CRM. Software is hard.'],
  ['CRM software', 'CRM, software and more'],
  ['new', 'the news'],
  ['SAP', 'a real sap'],
  ['R&D', 'R or D'],
])('the phrase %s is not found in %j', (phrase, text) => {
  expect(found(phrase, text)).toEqual([]);
});

test('each profile gets its own hits, by kind and offset, and profiles without hits cost nothing', () => {
  const matcher = matcherOf(
    { phrases: ['scaffolding', 'CRM'], excludedPhrases: ['class project'] },
    { phrases: ['nothing of this'] },
    { competitors: ['CRM'] },
  );
  const hits = matcher.match(tokenize('A CRM for a class project'));
  expect([...hits]).toEqual([
    [
      0,
      [
        { kind: 'phrase', phrase: 1, start: 2, end: 5 },
        { kind: 'excluded', phrase: 0, start: 12, end: 25 },
      ],
    ],
    [2, [{ kind: 'competitor', phrase: 0, start: 2, end: 5 }]],
  ]);
});

test('overlapping phrases are all found', () => {
  const matcher = matcherOf({
    phrases: ['field service software', 'service software', 'software', 'field service'],
  });
  const hits = matcher.match(tokenize('field service software')).get(0) ?? [];
  expect(hits.map(({ phrase }) => phrase).sort()).toEqual([0, 1, 2, 3]);
});

test('a word repeated ten thousand times is reported a few times', () => {
  const matcher = matcherOf({ phrases: ['a', 'a a', 'A b'], excludedPhrases: ['a'] });
  expect(matcher.match(tokenize('a '.repeat(10_000))).get(0)?.length).toBe(9);
});

test('an exclusion is reported however many other phrases a post contains', () => {
  const phrases = Array.from({ length: 200 }, (_, i) => `word${i}x`);
  const hits = matcherOf({ phrases, excludedPhrases: ['stop'] }).match(tokenize(`${phrases.join(' ')} stop`));
  expect(hits.get(0)?.at(-1)).toMatchObject({ kind: 'excluded' });
});

/** "a+", "a#", "a!" and so on: phrases that differ in the symbols after one word. */
const spelled = (from: number) =>
  Array.from({ length: 200 }, (_, i) => {
    const digits = (from + i).toString(6).padStart(6, '0');
    return `a${[...digits].map((digit) => '+#!%&$'[Number(digit)]).join('')}`;
  });

test('phrases that differ in symbols alone are not compared with each occurrence of their word', () => {
  const profiles = Array.from({ length: 60 }, (_, i) => ({ phrases: spelled(i * 200) }));
  const matcher = matcherOf(...profiles);
  const tokens = tokenize('a '.repeat(10_000));
  expect(cpuMsOf(() => matcher.match(tokens))).toBeLessThan(150);
});

/** Symbols between two words whose hashes are equal. */
const ONE_HASH = [
  ...[')\ufe4c\u00a8\ue9cf', ',\ue5cf<\u33ef', ':\uf234\u00ac\uf19a', ';\ue838{\ue4b8', ';\ueb4c\\\ue991'],
  ...['<\ue68f|\ue6df', '<\ued05<\u0fd1', '=\uf87b\u00ac\ua49c', '>\uee0c?\u23af', '>\uf452\u00f7\uf595'],
  ...['[\ue604(\u17ed', '\\\u2e0e{\uebeb', '\\\u2fdd;\uf634', ']\u4ddb\u00ae\ueb76', '^\ufe39\u00a4\u1f47'],
];

test('phrases made to have one hash are not compared with each occurrence of their words', () => {
  const matcher = matcherOf({ phrases: ONE_HASH.map((gap) => `a${gap}b`) });
  const tokens = tokenize(`a${ONE_HASH[0]}b `.repeat(2_800));
  let reads = 0;
  const starts = new Proxy(tokens.starts, {
    get(all, name) {
      reads++;
      return Reflect.get(all, name);
    },
  });
  const hits = matcher.match({ ...tokens, starts }).get(0);
  expect(hits?.map(({ phrase }) => phrase)).toEqual([0, 0, 0]);
  expect(reads).toBeLessThan(10_000);
});

test('the symbols between the words of a text are read once, however many long phrases it contains', () => {
  const words = Array.from({ length: 1_500 }, (_, i) => String.fromCodePoint(0x4e00 + (i % 500)));
  const phrases = Array.from({ length: 500 }, (_, i) => words.slice(i, i + 50).join('!'));
  const profiles = [0, 200, 400].map((at) => ({ phrases: phrases.slice(at, at + 200) }));
  const tokens = tokenize(words.join('!'));
  let reads = 0;
  const ends = new Proxy(tokens.ends, {
    get(list, name) {
      reads++;
      return Reflect.get(list, name);
    },
  });
  const hits = matcherOf(...profiles).match({ ...tokens, ends });
  expect([...hits.values()].map((found) => found.length)).toEqual([16, 16, 16]);
  expect(reads).toBeLessThan(10_000);
});

test('phrases made of one word are looked for a bounded number of times in a text of it', () => {
  const all = Array.from({ length: 90 }, (_, i) => '的'.repeat(i + 1));
  const signs = ['', '+', '++', '+++'];
  const profiles = signs.map((sign) => ({ phrases: [...all.map((phrase) => sign + phrase), ...all] }));
  const tokens = tokenize('的+++'.repeat(5_000));
  let reads = 0;
  const breaks = new Proxy(tokens.breaks, {
    get(list, name) {
      reads++;
      return Reflect.get(list, name);
    },
  });
  const hits = matcherOf(...profiles).match({ ...tokens, breaks });
  expect([...hits.values()].map((found) => found.length)).toEqual([16, 16, 16, 16]);
  expect(reads).toBeLessThan(100_000);
});

test('the phrases of a profile are found whatever other profiles look for', () => {
  const own = { phrases: ['Yahoo! Mail', 'C++', '.NET', 'a$'] };
  const tokens = tokenize(`${'a '.repeat(9_000)} a$ off Yahoo! Mail, C++ and .NET`);
  const others = Array.from({ length: 30 }, (_, i) => ({ phrases: [...spelled(i * 200).slice(1), 'a! a'] }));
  const alone = matcherOf(own).match(tokens).get(0);
  expect(alone?.map(({ phrase }) => phrase)).toEqual([3, 0, 1, 2]);
  expect(
    matcherOf(...others, own)
      .match(tokens)
      .get(30),
  ).toEqual(alone);
});

test.each([
  ['Yahoo! Mail', 'Yahoo? Mail', []],
  ['Yahoo! Mail', 'Yahoo Mail and yahoo!\n mails', ['Yahoo Mail', 'yahoo!\n mails']],
  ['Dr. A. Oetker', 'Dr. A. Oetker, dr A. Oetker', ['Dr. A. Oetker']],
  ['C++', 'C+ and C+++', ['C++']],
  ['$$Cash!!', '$$$cash!!!', ['$$cash!!']],
])('the phrase %s in %j is found as %j, by its symbols', (phrase, text, expected) => {
  expect(found(phrase, text)).toEqual(expected);
});
