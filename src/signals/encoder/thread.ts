import { parentPort } from 'node:worker_threads';
import type { EncodeAnswer, EncodeRequest } from './encoder.ts';
import {
  CLOSE,
  checkModelFiles,
  loadEncoder,
  MODEL_FOLDERS,
  type ModelName,
  type PartsEncoder,
} from './load-encoder.ts';

/** Loaded on first use: without profiles with an offer, only one is needed. */
const models = new Map<ModelName, Promise<PartsEncoder>>();

let isChecked = false;

function modelOf(name: ModelName): Promise<PartsEncoder> {
  const loaded = models.get(name);
  if (loaded !== undefined) return loaded;
  if (!isChecked) checkModelFiles();
  isChecked = true;
  const model = loadEncoder(MODEL_FOLDERS[name]);
  models.set(name, model);
  model.catch(() => models.delete(name)); // for want of memory, perhaps: the next text tries again
  return model;
}

/** Encodes one text at a time. Requests that arrive while a model loads wait. */
let last: Promise<void> = Promise.resolve();
let isClosing = false;

parentPort?.on('message', (request: EncodeRequest | typeof CLOSE) => {
  if (request === CLOSE) {
    isClosing = true;
    void last.then(() => parentPort?.postMessage(CLOSE));
    return;
  }
  const { id, model, parts } = request;
  last = last.then(async () => {
    if (isClosing) return;
    let answer: EncodeAnswer;
    let loaded: PartsEncoder | null = null;
    try {
      loaded = await modelOf(model);
      answer = { id, encoded: await loaded.encode(parts) };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      answer = { id, error: reason, isLoaded: loaded !== null };
    }
    parentPort?.postMessage(answer);
  });
});
