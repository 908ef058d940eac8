import { createDistribution } from '../../src/lib/distribution.ts';
import type { Encoder } from '../../src/signals/encoder/encoder.ts';
import type { Encoded } from '../../src/signals/encoder/load-encoder.ts';

/** An encoder that returns the same vector for all texts, and records its calls. */
export interface FakeEncoder extends Encoder {
  texts: string[];
  /** The numbers of texts announced by each job. */
  expected: number[];
}

/** `expect` decides whether work is accepted. Default: all of it is. */
export function createFakeEncoder({ expect = () => {} }: { expect?(texts: number): void } = {}): FakeEncoder {
  const texts: string[] = [];
  const expected: number[] = [];
  const nothing = createDistribution([]);
  async function encode(parts: readonly string[]): Promise<Encoded> {
    texts.push(parts.join(' '));
    return { numbers: new Float32Array(384), shares: new Float32Array(384 * parts.length) };
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
