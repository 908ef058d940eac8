import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inPackage } from '../../lib/package.ts';

/** Numbers of a text. */
const WIDTH = 384;

/** What a model makes of a text that it is given in parts, sentences for instance. */
export interface Encoded {
  /** 384 numbers, at length 1: texts that mean the same to the model are near each other. */
  numbers: Float32Array;
  /** What each part brings to them, 384 numbers a part; zeros for one beyond what the model reads. */
  shares: Float32Array;
}

/** The share of a part. */
export function shareOf({ shares }: Encoded, part: number): Float32Array {
  return shares.subarray(part * WIDTH, (part + 1) * WIDTH);
}

/** Turns the parts of a short text into numbers; the same parts, the same numbers. */
export interface PartsEncoder {
  encode(parts: readonly string[]): Promise<Encoded>;
}

const MAX_TOKENS = 128;
/** The token that ends a text. */
const END_TOKEN = 102;
/** Each text has one token that begins it, and one that ends it. */
const MARKS = 2;

/** The models, and where their weights lie: what tells who is about to buy, and what tells what they want from what is sold. */
export const MODEL_FOLDERS = {
  intent: inPackage('data/models/minilm-l6-int8'),
  offers: inPackage('data/models/offers-l6-int8'),
} as const;
export type ModelName = keyof typeof MODEL_FOLDERS;
/** All models read the same tokens. */
const TOKENIZER_FOLDER = MODEL_FOLDERS.intent;

/**
 * onnxruntime 1.30 tells Microsoft of each process and model, and leaves files in the temporary folder, unless it is told
 * not to before it is first loaded. A thread's environment is a copy that native code does not see: so the main thread says
 * it, before it starts one.
 */
export function forbidTelemetry(): void {
  process.env.ORT_DISABLE_TELEMETRY = '1';
}

/** Cuts a text to the tokens that a model takes. @throws where its optional package or files are missing */
export async function loadTokenizer(folder: string = TOKENIZER_FOLDER): Promise<(text: string) => number[]> {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const tokenizer = new Tokenizer(read('tokenizer.json'), read('tokenizer_config.json'));
  return (text) => {
    const all = tokenizer.encode(text).ids;
    return all.length > MAX_TOKENS ? [...all.slice(0, MAX_TOKENS - 1), END_TOKEN] : all;
  };
}

/**
 * Loads a model on one thread, 72 ms and 62 MiB. Texts are encoded one at a time: with int8 weights a batch would change the
 * numbers of its texts. @throws where its optional packages or its files are missing
 */
export async function loadEncoder(folder: string = MODEL_FOLDERS.intent): Promise<PartsEncoder> {
  forbidTelemetry();
  const [{ InferenceSession, Tensor }, tokens] = await Promise.all([
    import('onnxruntime-node'),
    loadTokenizer(),
  ]);
  const session = await InferenceSession.create(join(folder, 'model.onnx'), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
  });
  return {
    async encode(parts) {
      const ids = tokens(parts.join(' '));
      const shape = [1, ids.length];
      const answer = await session.run({
        input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
        attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
      });
      const numbers = Float32Array.from(answer.embedding?.data as Float32Array);
      // A text of one part is its numbers.
      if (parts.length < 2) return { numbers, shares: numbers };
      const lengths = parts.map((part) => tokens(part).length - MARKS);
      return { numbers, shares: sharesOf(answer.tokens?.data as Float32Array, lengths) };
    },
  };
}

/** A text's numbers are the mean of its tokens' at length 1: so each token has its share in them. */
function sharesOf(tokens: Float32Array, lengths: readonly number[]): Float32Array {
  const sums = new Float64Array(WIDTH);
  for (let i = 0; i < tokens.length; i++) sums[i % WIDTH] = (sums[i % WIDTH] ?? 0) + (tokens[i] ?? 0);
  const length = Math.hypot(...sums);
  const shares = new Float32Array(lengths.length * WIDTH);
  let token = 1; // behind the mark of the beginning
  for (const [part, count] of lengths.entries()) {
    const end = Math.min(token + count, tokens.length / WIDTH - 1);
    for (let k = 0; k < WIDTH; k++) {
      let sum = 0;
      for (let at = token; at < end; at++) sum += tokens[at * WIDTH + k] ?? 0;
      shares[part * WIDTH + k] = sum / length;
    }
    token = end;
  }
  return shares;
}
