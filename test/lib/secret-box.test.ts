import { expect, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';

const box = createSecretBox(Buffer.alloc(32, 7), systemRandom);

test('a sealed secret opens with its key and context', () => {
  expect(box.open(box.seal('whsec_ü', 'whk_1'), 'whk_1')).toBe('whsec_ü');
});

test('a box moved to another context does not open', () => {
  const sealed = box.seal('whsec_x', 'whk_1');
  expect(() => box.open(sealed, 'whk_2')).toThrow();
});

test('a box does not open with another key', () => {
  const other = createSecretBox(Buffer.alloc(32, 8), systemRandom);
  expect(() => other.open(box.seal('whsec_x', 'whk_1'), 'whk_1')).toThrow();
});

test('sealing the same secret twice gives different bytes', () => {
  expect(box.seal('a', 'b').equals(box.seal('a', 'b'))).toBe(false);
});
