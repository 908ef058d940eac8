import { createDistribution } from '../../src/lib/distribution.ts';
import type { Encoder } from '../../src/signals/encoder/encoder.ts';

/** An encoder to which all texts mean the same, and which remembers what it was asked. */
export interface FakeEncoder extends Encoder {
  texts: string[];
  /** Texts that each piece of work expected, as it said so. */
  expected: number[];
}

/** `expect` decides on what is taken on; everything, where it is left out. */
export function createFakeEncoder({ expect = () => {} }: { expect?(texts: number): void } = {}): FakeEncoder {
  const texts: string[] = [];
  const expected: number[] = [];
  const nothing = createDistribution([]);
  async function encode(text: string): Promise<Float32Array> {
    texts.push(text);
    return new Float32Array(384);
  }
  return {
    texts,
    expected,
    encode,
    begin: () => ({
      expect(texts) {
        expected.push(texts);
        expect(texts);
      },
      encode,
      end: () => {},
    }),
    figures: { waiting: 0, refused: 0, waitSeconds: nothing, encodeSeconds: nothing },
    close: async () => {},
  };
}
