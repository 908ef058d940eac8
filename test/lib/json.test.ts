import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { endOfString } from '../../src/lib/json.ts';

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
