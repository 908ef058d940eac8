import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { canonicalJson, canonicalPieces, endOfString } from '../../src/lib/json.ts';

test('a string ends at its closing quote, whatever is escaped in it', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\n', '字') });
  fc.assert(
    fc.property(text, text, (before, inside) => {
      const start = before.length;
      const string = JSON.stringify(inside);
      expect(endOfString(`${before}${string},"b"`, start)).toBe(start + string.length - 1);
      expect(endOfString(`${before}${string.slice(0, -1)}`, start)).toBe(start + string.length - 1);
    }),
  );
});

test('escaped quotes are not searched for one by one', () => {
  const text = JSON.stringify('"'.repeat(1_000));
  const search = vi.spyOn(String.prototype, 'indexOf');
  const end = endOfString(text, 0);
  const searches = search.mock.calls.length;
  search.mockRestore();
  expect(end).toBe(text.length - 1);
  expect(searches).toBeLessThan(10);
});

test('canonical JSON sorts the members of objects, except of those larger than any valid one', () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
  const large = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`m${201 - n}`, n]));
  expect(canonicalJson(large)).toBe(JSON.stringify(large));
});

test('canonical JSON comes in short pieces, and is JSON of the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
  expect(canonicalJson({ a: [undefined, {}, []], b: undefined })).toBe('{"a":[null,{},[]]}');
  const pieces = [...canonicalPieces({ a: Array.from({ length: 10_000 }, (_, n) => n), b: [[1], { c: 2 }] })];
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(5_000);
});
