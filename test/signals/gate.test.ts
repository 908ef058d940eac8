import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  beginningsOf,
  CIRCUMSTANCES,
  type Cue,
  createGate,
  cue,
  HEARSAY,
  OBJECTS,
  OFFERS_TO_BUY,
  QUESTIONS,
  SPEAKERS,
  WISHES,
} from '../../src/signals/reading/cues.ts';

const CUES: Cue[] = [WISHES, QUESTIONS, OFFERS_TO_BUY, OBJECTS, SPEAKERS, HEARSAY, CIRCUMSTANCES].flat();

const beginnings = (...sources: string[]) =>
  beginningsOf(cue('a cue', ...sources).pattern)?.map(({ text, whole }) => (whole ? `${text}.` : text)) ??
  null;

test.each([
  ['\\b(?:looking|seeking) for\\b', ['looking.', 'seeking.']],
  ['\\b(?:is|are) there (?:a|an|any)\\b', ['there.']],
  ['\\bcompan(?:y|ies)\\b', ['compan']],
  ['\\btools?\\b', ['tool']],
  ['\\b\\w+ alternatives?\\b', ['alternative']],
  ['\\bplug[- ]?in\\b', ['plug']],
  ['\\b(?:very )?cheap\\b', ['cheap.']],
  ['\\bre-?evaluate\\b', ['re']],
  ['\\bcafé\\b', ['caf.']],
  ['\\b(?:ab|cd)+\\b', ['ab', 'cd']],
  ['\\bend(?! of)', ['end']],
  // No required prefix of a word.
  ['[$€] ?\\d', null],
  ['\\w+ing\\b', null],
  ['(?:a-)?b\\b', null],
  ['\\bneeds?\\b|!!!', null],
] as const)('what a match of %s must hold: %j', (source, expected) => {
  expect(beginnings(source)).toEqual(expected);
});

test('an unsupported group is rejected', () => {
  expect(() => beginnings('(?<=x)need')).toThrow('Unsupported group');
});

// Texts are generated from each cue's own pattern, so that its branches are covered.
test('every cue that matches a sentence is selected', () => {
  const gate = createGate(CUES);
  const met = new Set<Cue>();
  const aside = /\(\?[=!](?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g;
  for (const cueTried of CUES) {
    const { name, pattern } = cueTried;
    const taken = new RegExp(
      pattern.source.replaceAll('(?!\\s)', '').replaceAll(aside, '').replaceAll('\\b', ''),
    );
    for (const text of fc.sample(fc.stringMatching(taken), { numRuns: 40, seed: 1 })) {
      const sentence = text.toLowerCase();
      if (!pattern.test(sentence)) continue;
      met.add(cueTried);
      if (!gate(sentence).has(cueTried)) expect.fail(`${name} is not tried on ${JSON.stringify(sentence)}`);
    }
  }
  expect(met.size).toBe(CUES.length);
});

test('few cues are selected', () => {
  const gate = createGate(CUES);
  expect(gate('nothing else is told by this line.').size).toBeLessThan(CUES.length / 4);
});
