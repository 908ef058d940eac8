import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildAutomaton } from '../../src/signals/automaton.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

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
      buildAutomaton(all).scan(Int32Array.from(text), (sequence, last) => found.push([sequence, last]) > 0);
      expect(found).toEqual(searchPlainly(all, text));
    }),
    { numRuns: 1_000 },
  );
});

test('a sequence that is no longer wanted is skipped, and all others are found', () => {
  fc.assert(
    fc.property(sequences, texts, fc.integer({ min: 1, max: 3 }), (all, text, most) => {
      const places = all.map((): number[] => []);
      const automaton = buildAutomaton(all);
      const wanted = (sequence: number) => most + (sequence % 3);
      automaton.scan(
        Int32Array.from(text),
        (sequence, last) => (places[sequence]?.push(last) ?? 0) < wanted(sequence),
      );
      const plainly = searchPlainly(all, text);
      const firstOf = (sequence: number) =>
        plainly.flatMap(([each, last]) => (each === sequence ? [last] : [])).slice(0, wanted(sequence));
      expect(places).toEqual(all.map((_, sequence) => firstOf(sequence)));
      const found: [number, number][] = [];
      automaton.scan(Int32Array.from(text), (sequence, last) => found.push([sequence, last]) > 0);
      expect(found).toEqual(plainly);
    }),
    { numRuns: 500 },
  );
});

test('fifty thousand sequences are found in a text of all of them', () => {
  const all = Array.from({ length: 50_000 }, (_, i) => [(i % 250) + 1, Math.floor(i / 250) + 1, 1]);
  const found = new Set<number>();
  buildAutomaton(all).scan(Int32Array.from(all.flat()), (sequence) => found.add(sequence).size > 0);
  expect(found.size).toBe(all.length);
});

/**
 * Sequences whose steps all had the first places of a hash table of 2 ** 16 with these factors, as a client could choose
 * phrases: it knows the number of each word and state from their order.
 */
function colliding(count: number, length: number, symbols: number): number[][] {
  const states = new Map<string, number>();
  const next = (state: number, by: number) => {
    const key = `${state} ${by}`;
    const known = states.get(key) ?? states.size + 1;
    states.set(key, known);
    return known;
  };
  const placeOf = (state: number, by: number) =>
    (Math.imul(state, 0x9e3779b1) ^ Math.imul(by, 0x85ebca6b)) >>> 16;
  return Array.from({ length: count }, (_, i) => {
    const sequence = [(i % symbols) + 1];
    let state = next(0, sequence[0] ?? 0);
    while (sequence.length < length) {
      let [by, least] = [1, Number.POSITIVE_INFINITY];
      for (let one = 1; one <= symbols; one++) {
        const place = placeOf(state, one);
        if (place < least && !states.has(`${state} ${one}`)) [by, least] = [one, place];
      }
      sequence.push(by);
      state = next(state, by);
    }
    return sequence;
  });
}

test('sequences chosen to collide in a hash table take no longer than others', () => {
  const all = colliding(250, 100, 300);
  const found = new Set<number>();
  const spent = cpuMsOf(() =>
    buildAutomaton(all).scan(Int32Array.from(all.flat()), (sequence) => found.add(sequence).size > 0),
  );
  expect(found.size).toBe(all.length);
  expect(spent).toBeLessThan(200);
});
