import { expect, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';

test('random bytes have the requested size and are not repeated, whatever was drawn together', () => {
  const sizes = [0, 1, 15, 32, 4_000, 4_096, 4_097, 10_000];
  expect(sizes.map((size) => systemRandom.bytes(size).length)).toEqual(sizes);
  const drawn = Array.from({ length: 2_000 }, () => systemRandom.bytes(15).toString('hex'));
  expect(new Set(drawn).size).toBe(2_000);
});

test('changing bytes does not change others', () => {
  const [one, other] = [systemRandom.bytes(16), systemRandom.bytes(16)];
  const before = other.toString('hex');
  one.fill(0);
  new Uint8Array(one.buffer, one.byteOffset, one.length).fill(0);
  expect(other.toString('hex')).toBe(before);
});
