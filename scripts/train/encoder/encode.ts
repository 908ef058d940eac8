import { readFileSync, writeFileSync } from 'node:fs';
import { InferenceSession, Tensor } from 'onnxruntime-node';

/** Encodes tokenized texts one at a time with the product's runtime: `encode.ts MODEL TOKENS NUMBERS`, JSON files. */
const [model = '', tokensFile = '', numbersFile = ''] = process.argv.slice(2);
const texts: number[][] = JSON.parse(readFileSync(tokensFile, 'utf8'));
const session = await InferenceSession.create(model, { intraOpNumThreads: 1, interOpNumThreads: 1 });
const numbers: number[][] = [];
for (const ids of texts) {
  const shape = [1, ids.length];
  const answer = await session.run({
    input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
    attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
  });
  numbers.push(Array.from((answer.embedding?.data ?? []) as Float32Array));
}
writeFileSync(numbersFile, JSON.stringify(numbers));
process.exit(0);
