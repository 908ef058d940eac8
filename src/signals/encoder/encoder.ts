import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { moduleBeside } from '../../lib/package.ts';
import { createRecentMap } from '../../lib/recent-map.ts';
import { DomainError } from '../../model/errors.ts';
import { ENCODER_FOLDER, forbidTelemetry } from './load-encoder.ts';
import { createEncoderQueue, type EncoderFigures, type EncoderWork, type QueuedWork } from './queue.ts';

/** Texts into numbers, in a thread of its own; the same text gives the same numbers, however busy the server is. */
export interface Encoder {
  /** The numbers of a text, as a single one of nobody's. @throws DomainError `UNAVAILABLE` where the thread broke */
  encode(text: string): Promise<Float32Array>;
  /** Begins work of many texts, which must be ended. */
  begin(work: EncoderWork): Encoding;
  readonly figures: EncoderFigures;
  close(): Promise<void>;
}

/** Work of many texts. */
export interface Encoding {
  /**
   * Says how many texts are still to come, as far as can be told. Said before the first one, it decides whether the work is
   * taken on; what was taken on is done, however long it takes.
   * @throws DomainError `UNAVAILABLE` where it would wait too long for others' texts
   */
  expect(texts: number): void;
  /** The numbers of a text. @throws DomainError `UNAVAILABLE` where the thread broke */
  encode(text: string): Promise<Float32Array>;
  end(): void;
}

/** Texts in the thread at once: the next one is there when one is done. */
const IN_THREAD = 2;
/** Numbers that are kept, 2 to 4 KB each: a post that comes again within a batch, or from several sources at once, is encoded once. */
const MAX_KEPT = 1_024;
const BROKEN_RETRY_SECONDS = 3;
const MAX_RETRY_SECONDS = 60;

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
      return `the optional package ${name} is not installed (npm's --ignore-scripts installs it without what its own script downloads)`;
    }
  }
  return existsSync(join(folder, 'model.onnx')) ? null : `${folder} holds no model.onnx`;
}

interface Asked {
  text: string;
  resolve(numbers: Float32Array): void;
  reject(error: Error): void;
}

/** Starts its thread with the first text. */
export function createEncoder({
  folder = ENCODER_FOLDER,
  clock = systemClock,
}: {
  folder?: string;
  clock?: Pick<Clock, 'monotonic'>;
} = {}): Encoder {
  const queue = createEncoderQueue<Asked>(clock.monotonic);
  const inThread = new Map<number, Asked>();
  /** By text. */
  const kept = createRecentMap<string, Promise<Float32Array>>(MAX_KEPT);
  let worker: Worker | null = null;
  let lastId = 0;

  function settle(answer: EncodeAnswer): void {
    const asked = inThread.get(answer.id);
    if (asked === undefined) return;
    inThread.delete(answer.id);
    queue.finish();
    fill();
    if (inThread.size === 0) worker?.unref();
    if ('numbers' in answer) asked.resolve(answer.numbers);
    else asked.reject(broken(answer.error));
  }

  function end(reason: string): void {
    worker = null;
    const left = [...inThread.values(), ...queue.clear()];
    for (const _ of inThread.keys()) queue.finish();
    inThread.clear();
    for (const { reject } of left) reject(broken(reason));
  }

  function start(): Worker {
    forbidTelemetry();
    const started = new Worker(moduleBeside(import.meta.url, './thread'), { workerData: { folder } });
    started.on('message', settle);
    started.on('error', (error) => end(error.message));
    started.on('exit', () => worker === started && end('its thread ended'));
    return started;
  }

  function fill(): void {
    while (inThread.size < IN_THREAD) {
      const asked = queue.take();
      if (asked === undefined) return;
      worker ??= start();
      const id = ++lastId;
      inThread.set(id, asked);
      // What waits keeps the process alive; an idle thread does not.
      worker.ref();
      worker.postMessage({ id, text: asked.text } satisfies EncodeRequest);
    }
  }

  function encodeFor(work: QueuedWork<Asked>, text: string): Promise<Float32Array> {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const numbers = new Promise<Float32Array>((resolve, reject) => {
      work.push({ text, resolve, reject });
      fill();
    });
    kept.set(text, numbers);
    numbers.catch(() => {
      if (kept.get(text) === numbers) kept.delete(text);
    });
    return numbers;
  }

  function begin(work: EncoderWork): Encoding {
    const queued = queue.begin(work);
    return {
      expect(texts) {
        const refusal = queued.expect(texts);
        if (refusal !== null) throw tooMany(refusal.excessMs);
      },
      encode: (text) => encodeFor(queued, text),
      end: queued.end,
    };
  }

  return {
    async encode(text) {
      const encoding = begin({ owner: '', kind: 'single' });
      try {
        return await encoding.encode(text);
      } finally {
        encoding.end();
      }
    },
    begin,
    figures: queue.figures,
    async close() {
      const ending = worker;
      end('the server stops');
      await ending?.terminate();
    },
  };
}

function tooMany(excessMs: number): DomainError {
  const seconds = Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil(excessMs / 1_000)));
  return new DomainError('UNAVAILABLE', 'Too many posts wait to be read. Nothing was changed.', {
    hint: `Wait ${seconds} second${seconds === 1 ? '' : 's'} (Retry-After), then try again.`,
    retryAfterSeconds: seconds,
  });
}

function broken(reason: string): DomainError {
  const detail = `The sentence encoder failed (${reason}); the post was not stored.`;
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: BROKEN_RETRY_SECONDS });
}
