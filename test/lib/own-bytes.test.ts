import { expect, test } from 'vitest';
import { letGo } from '../../src/lib/own-bytes.ts';

test('exclusive memory is released immediately', () => {
  const bytes = new Uint8Array(10_000);
  const most = bytes.subarray(0, 9_000);
  letGo(most);
  expect([most.byteLength, bytes.byteLength]).toEqual([0, 0]);
});

test('shared memory is not released', () => {
  const [one, other] = [Buffer.from('one'), Buffer.from('other')];
  expect(one.buffer).toBe(other.buffer);
  letGo(one);
  expect([one.toString(), other.toString()]).toEqual(['one', 'other']);
});
