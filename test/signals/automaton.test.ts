import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildAutomaton } from '../../src/signals/automaton.ts';

const symbol = fc.integer({ min: 1, max: 3 });
const sequences = fc.uniqueArray(fc.array(symbol, { minLength: 1, maxLength: 4 }), {
  maxLength: 20,
  selector: (sequence) => sequence.join(),
});
const texts = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 });

/** Compares every sequence at every position. */
function searchPlainly(all: readonly number[][], text: readonly number[]): [number, number][] {
  return text.flatMap((_, last) =>
    all
      .map((sequence, index): [number, number] => [index, sequence.length])
      .filter(
        ([index, length]) =>
          text.slice(Math.max(0, last + 1 - length), last + 1).join() === all[index]?.join(),
      )
      .sort(([, a], [, b]) => b - a)
      .map(([index]): [number, number] => [index, last]),
  );
}

test('it finds the same as a search at every position, in the same order', () => {
  fc.assert(
    fc.property(sequences, texts, (all, text) => {
      const found: [number, number][] = [];
      buildAutomaton(all).scan(Int32Array.from(text), (sequence, last) => found.push([sequence, last]));
      expect(found).toEqual(searchPlainly(all, text));
    }),
    { numRuns: 1_000 },
  );
});

test('fifty thousand sequences are found in a text of all of them', () => {
  const all = Array.from({ length: 50_000 }, (_, i) => [(i % 250) + 1, Math.floor(i / 250) + 1, 1]);
  const found = new Set<number>();
  buildAutomaton(all).scan(Int32Array.from(all.flat()), (sequence) => found.add(sequence));
  expect(found.size).toBe(all.length);
});
