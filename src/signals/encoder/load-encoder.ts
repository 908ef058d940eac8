import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { inPackage } from '../../lib/package.ts';

/** Dimensions of an embedding. */
const WIDTH = 384;

/** The embedding of a text that was given in parts, such as sentences. */
export interface Encoded {
  /** 384 dimensions, with length 1: texts with similar meaning have similar vectors. */
  numbers: Float32Array;
  /** The contribution of each part, 384 dimensions per part; zeros for parts beyond the model's limit. */
  shares: Float32Array;
}

/** The contribution of one part. */
export function shareOf({ shares }: Encoded, part: number): Float32Array {
  return shares.subarray(part * WIDTH, (part + 1) * WIDTH);
}

/** Computes the embedding of a short text given in parts; the same parts always give the same vector. */
export interface PartsEncoder {
  encode(parts: readonly string[]): Promise<Encoded>;
}

const MAX_TOKENS = 128;
/** The tokens at the start and the end of a text. */
const [START_TOKEN, END_TOKEN] = [101, 102];

/** Tells an encoder's thread to begin no further text; it sends this back once it has completed the one in progress. */
export const CLOSE = 'close';

const MODELS = inPackage('data/models');
/** The SHA-256 of each file of the models, in the format of `sha256sum`. */
export const SUMS_FILE = join(MODELS, 'SHA256SUMS');

/**
 * The models and the folders of their weights: `intent` detects intent to buy, `offers` compares posts with
 * offers.
 */
export const MODEL_FOLDERS = {
  intent: join(MODELS, 'minilm-l6-int8'),
  offers: join(MODELS, 'offers-l6-int8'),
} as const;
export type ModelName = keyof typeof MODEL_FOLDERS;
/** All models use the same tokens. */
const TOKENIZER_FOLDER = MODEL_FOLDERS.intent;

/**
 * Compares the files of all models with their SHA-256, which takes 36 ms: a changed byte of their weights would change
 * scores silently. @throws Error naming the first damaged file
 */
export function checkModelFiles(): void {
  for (const line of readFileSync(SUMS_FILE, 'utf8').trimEnd().split('\n')) {
    const [sum, name = ''] = line.split('  ');
    const file = join(MODELS, name);
    if (sha256Of(file) !== sum)
      throw new Error(
        `${file} is damaged, its SHA-256 is not that in ${SUMS_FILE}: install the package again`,
      );
  }
}

/** Reads in pieces: the models need the memory. */
function sha256Of(file: string): string {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(256 * 1024);
  const opened = openSync(file, 'r');
  try {
    for (let bytes = readSync(opened, piece); bytes > 0; bytes = readSync(opened, piece))
      hash.update(piece.subarray(0, bytes));
    return hash.digest('hex');
  } finally {
    closeSync(opened);
  }
}

/**
 * onnxruntime 1.30 reports each process and model to Microsoft and leaves files in the temporary folder,
 * unless this is turned off before it is first loaded. Native code does not see the environment of a thread,
 * which is a copy, so the main thread sets the variable before it starts one.
 */
export function forbidTelemetry(): void {
  process.env.ORT_DISABLE_TELEMETRY = '1';
}

/**
 * Loads the tokenizer, which truncates to the maximum that a model takes. @throws if its optional package or
 * files are missing
 */
export async function loadTokenizer(
  folder: string = TOKENIZER_FOLDER,
): Promise<(text: string, mostUnits?: number) => number[]> {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const tokenizer = new Tokenizer(read('tokenizer.json'), read('tokenizer_config.json'));
  return (text, mostUnits = MAX_UNITS) => {
    const all = tokenizer.encode(startOf(text, mostUnits)).ids;
    return all.length > MAX_TOKENS ? [...all.slice(0, MAX_TOKENS - 1), END_TOKEN] : all;
  };
}

/** More than 128 tokens of any ordinary text; of all parts of a text together. */
const MAX_UNITS = 1_500;

/**
 * The start of a long text, up to the end of a word. Tokenizing takes time by the square of the words' length: 5,000
 * characters in words of 99 took 113 ms, ten times as long as the model.
 */
function startOf(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.lastIndexOf(' ', most);
  return text.slice(0, end > 0 ? end : most);
}

/**
 * Loads a model on one thread, which takes 72 ms and 62 MiB. Texts are encoded one at a time: with int8
 * weights, a batch would change the vectors of its texts. @throws if its optional packages or files are
 * missing
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
      let [count, units] = [2, 0];
      const byPart = parts.map((part) => {
        const isRead = count < MAX_TOKENS && units < MAX_UNITS; // the model reads no more
        const ids = isRead ? tokens(part, MAX_UNITS - units).slice(1, -1) : [];
        count += ids.length;
        units += part.length;
        return ids;
      });
      const ids = joinTokens(byPart);
      const shape = [1, ids.length];
      const answer = await session.run({
        input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
        attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
      });
      const numbers = Float32Array.from(answer.embedding?.data as Float32Array);
      // A single part contributes everything.
      if (parts.length < 2) return { numbers, shares: numbers };
      const lengths = byPart.map((part) => part.length);
      return { numbers, shares: sharesOf(answer.tokens?.data as Float32Array, lengths) };
    },
  };
}

/** The tokens of parts joined by spaces, at which words end: those of each part, without tokenizing the text again. */
function joinTokens(byPart: readonly number[][]): number[] {
  const ids = [START_TOKEN, ...byPart.flat()];
  if (ids.length >= MAX_TOKENS) ids.length = MAX_TOKENS - 1;
  ids.push(END_TOKEN);
  return ids;
}

/** The vector of a text is the normalised mean of its tokens' vectors, so each token has a share in it. */
function sharesOf(tokens: Float32Array, lengths: readonly number[]): Float32Array {
  const sums = new Float64Array(WIDTH);
  for (let at = 0; at < tokens.length; at += WIDTH)
    for (let k = 0; k < WIDTH; k++) sums[k] = (sums[k] ?? 0) + (tokens[at + k] ?? 0);
  const length = Math.hypot(...sums);
  const shares = new Float32Array(lengths.length * WIDTH);
  let token = 1; // after the start token
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
