import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBitMemory } from '../../src/campaigns/recipient-bits.ts';

const recipient = fc.oneof(fc.nat(600), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));

test('the bits of each recipient are those that were set', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(recipient, fc.nat(15)), { maxLength: 200 }), (events) => {
      const memory = createBitMemory();
      const bits = memory.create();
      const expected = new Map<number, number>();
      for (const [who, bit] of events) {
        const before = expected.get(who) ?? 0;
        expect(bits.set(who, bit)).toBe(before);
        expected.set(who, before | (1 << bit));
      }
      memory.release();
    }),
  );
});

test('counts that take too much memory together are refused, until others have ended', () => {
  const [one, other] = [createBitMemory(10), createBitMemory(10)];
  const ofOne = one.create();
  for (let n = 0; n < 6; n++) ofOne.set(n * 256, 0);
  const ofOther = other.create();
  const fill = () => {
    for (let n = 0; n < 6; n++) ofOther.set(n * 256, 0);
  };
  expect(fill).toThrow('too much memory');
  one.release();
  fill();
  ofOther.release();
  const third = createBitMemory(10);
  const ofThird = third.create();
  for (let n = 0; n < 10; n++) ofThird.set(n * 256, 0);
  expect(() => ofThird.set(10 * 256, 0)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
  other.release();
  third.release();
  expect(createBitMemory(1).create().set(1, 0)).toBe(0);
});
