import type { Encoder } from '../../src/signals/encoder/encoder.ts';
import type { Encoded, ModelName } from '../../src/signals/encoder/load-encoder.ts';
import { createFakeEncoder } from './fake-encoder.ts';

/** An encoder that represents a text by the `topics` it mentions. */
export function createTopicEncoder(topics: readonly string[]) {
  const asked: { parts: readonly string[]; model: ModelName }[] = [];
  const numbersOf = (text: string) => {
    const numbers = new Float32Array(384);
    for (const [i, topic] of topics.entries()) if (text.toLowerCase().includes(topic)) numbers[i] = 1;
    if (numbers.every((number) => number === 0)) numbers[topics.length] = 1;
    const length = Math.hypot(...numbers);
    return numbers.map((number) => number / length);
  };
  const encode: Encoder['encode'] = async (parts, model = 'intent'): Promise<Encoded> => {
    asked.push({ parts, model });
    if (model === 'intent')
      return { numbers: new Float32Array(384), shares: new Float32Array(384 * parts.length) };
    return {
      numbers: numbersOf(parts.join(' ')),
      shares: Float32Array.from(parts.flatMap((part) => [...numbersOf(part)])),
    };
  };
  const fake = createFakeEncoder();
  const begin: Encoder['begin'] = (work) => ({ ...fake.begin(work), encode });
  return { ...fake, encode, begin, asked };
}
