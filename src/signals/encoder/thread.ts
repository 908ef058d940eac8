import { parentPort, workerData } from 'node:worker_threads';
import type { EncodeAnswer, EncodeRequest } from './encoder.ts';
import { loadEncoder } from './load-encoder.ts';

/** The encoder's thread: answers one text after the other. What it is asked while it loads, waits. */
const encoder = loadEncoder((workerData as { folder: string }).folder);
let last: Promise<void> = Promise.resolve();

parentPort?.on('message', ({ id, text }: EncodeRequest) => {
  last = last.then(async () => {
    let answer: EncodeAnswer;
    try {
      answer = { id, numbers: await (await encoder).encode(text) };
    } catch (error) {
      answer = { id, error: error instanceof Error ? error.message : String(error) };
    }
    parentPort?.postMessage(answer);
  });
});
