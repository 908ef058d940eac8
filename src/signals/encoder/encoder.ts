import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DomainError } from '../../model/errors.ts';
import { ENCODER_FOLDER, forbidTelemetry } from './load-encoder.ts';

/** Texts into numbers, in a thread of its own; the same text gives the same numbers, however busy the server is. */
export interface Encoder {
  /**
   * The numbers of a text, in the order of asking. `patient` callers wait for room in the queue.
   * @throws DomainError `UNAVAILABLE` where the queue is full, or the thread broke
   */
  encode(text: string, options?: { patient?: boolean }): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Texts under way at most: at 10 ms each, the last of them waits for 2.5 s. */
const MAX_WAITING = 256;
const RETRY_AFTER_SECONDS = 3;

/** What the thread is asked, and what it answers. */
export interface EncodeRequest {
  id: number;
  text: string;
}
export type EncodeAnswer = { id: number; numbers: Float32Array } | { id: number; error: string };

/** Why the encoder cannot be used here; null: it can. Looks, but loads nothing. */
export function whyNoEncoder(folder: string = ENCODER_FOLDER): string | null {
  const { resolve } = createRequire(import.meta.url);
  for (const name of ['onnxruntime-node', '@huggingface/tokenizers']) {
    try {
      resolve(name);
    } catch {
      return `the optional package ${name} is not installed`;
    }
  }
  return existsSync(join(folder, 'model.onnx')) ? null : `${folder} holds no model.onnx`;
}

interface Waiting {
  resolve(numbers: Float32Array): void;
  reject(error: Error): void;
}

/** Starts its thread with the first text. */
export function createEncoder({ folder = ENCODER_FOLDER, maxWaiting = MAX_WAITING } = {}): Encoder {
  const waiting = new Map<number, Waiting>();
  /** Patient callers that wait for room, first come first. */
  const outside: (() => void)[] = [];
  let worker: Worker | null = null;
  let lastId = 0;

  function settle(answer: EncodeAnswer): void {
    const asked = waiting.get(answer.id);
    if (asked === undefined) return;
    waiting.delete(answer.id);
    if (waiting.size === 0) worker?.unref();
    outside.shift()?.();
    if ('numbers' in answer) asked.resolve(answer.numbers);
    else asked.reject(broken(answer.error));
  }

  function end(reason: string): void {
    worker = null;
    for (const { reject } of waiting.values()) reject(broken(reason));
    waiting.clear();
    for (const go of outside.splice(0)) go();
  }

  function start(): Worker {
    forbidTelemetry();
    const started = new Worker(new URL('./thread.ts', import.meta.url), { workerData: { folder } });
    started.on('message', settle);
    started.on('error', (error) => end(error.message));
    started.on('exit', () => worker === started && end('its thread ended'));
    return started;
  }

  return {
    async encode(text, { patient = false } = {}) {
      while (waiting.size >= maxWaiting) {
        if (!patient) throw full();
        await new Promise<void>((resolve) => outside.push(resolve));
      }
      worker ??= start();
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        // What waits keeps the process alive; an idle thread does not.
        worker?.ref();
        worker?.postMessage({ id, text } satisfies EncodeRequest);
      });
    },
    async close() {
      const ending = worker;
      end('the server stops');
      await ending?.terminate();
    },
  };
}

function full(): DomainError {
  const detail = 'More posts wait to be read than can be read soon; nothing was stored.';
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

function broken(reason: string): DomainError {
  const detail = `The sentence encoder failed (${reason}); nothing was stored.`;
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
