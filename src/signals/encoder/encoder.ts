import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { moduleBeside } from '../../lib/package.ts';
import { DomainError } from '../../model/errors.ts';
import { type Encoded, forbidTelemetry, MODEL_FOLDERS, type ModelName } from './load-encoder.ts';
import { createEncoderQueue, type EncoderFigures, type EncoderWork, type QueuedWork } from './queue.ts';

/** Texts into numbers, in a thread of its own; the same text gives the same numbers, however busy the server is. */
export interface Encoder {
  /** Encodes the parts of a text, as a single text without an owner. @throws DomainError `UNAVAILABLE` where the thread broke */
  encode(parts: readonly string[], model?: ModelName): Promise<Encoded>;
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
  /** Encodes the parts of a text, sentences for instance. @throws DomainError `UNAVAILABLE` where the thread broke */
  encode(parts: readonly string[], model?: ModelName): Promise<Encoded>;
  end(): void;
}

/** Texts in a thread at once: the next one is there when one is done. */
const IN_THREAD = 2;
/** The event loop, the writer and the sender have work beside them; each thread takes 60 MB a model. */
const CORES_A_THREAD = 2;
const MOST_THREADS = 2;
/** Cached embeddings, 3 to 20 KB each: a post that repeats within a batch or across sources is encoded once. */
const MAX_KEPT = 1_024;
const BROKEN_RETRY_SECONDS = 3;
const MAX_RETRY_SECONDS = 60;

/** What the thread is asked, and what it answers. */
export interface EncodeRequest {
  id: number;
  model: ModelName;
  parts: readonly string[];
}
export type EncodeAnswer = { id: number; encoded: Encoded } | { id: number; error: string };

/** Why the encoder cannot be used here; null: it can. Looks, but loads nothing. */
export function whyNoEncoder(folders: readonly string[] = Object.values(MODEL_FOLDERS)): string | null {
  const { resolve } = createRequire(import.meta.url);
  for (const name of ['onnxruntime-node', '@huggingface/tokenizers']) {
    try {
      resolve(name);
    } catch {
      return `the optional package ${name} is not installed (npm's --ignore-scripts installs it without what its own script downloads)`;
    }
  }
  const without = folders.find((folder) => !existsSync(join(folder, 'model.onnx')));
  return without === undefined ? null : `${without} holds no model.onnx`;
}

interface Asked extends Omit<EncodeRequest, 'id'> {
  resolve(encoded: Encoded): void;
  reject(error: Error): void;
}

interface Thread {
  worker: Worker;
  /** By id. */
  asked: Map<number, Asked>;
}

function threadsFor(cores: number): number {
  return Math.max(1, Math.min(MOST_THREADS, Math.floor(cores / CORES_A_THREAD)));
}

/** Starts a thread with the first text, and others when there is work for them. */
export function createEncoder({
  clock = systemClock,
  threads: most = threadsFor(availableParallelism()),
}: {
  clock?: Pick<Clock, 'monotonic'>;
  threads?: number;
} = {}): Encoder {
  const queue = createEncoderQueue<Asked>(clock.monotonic);
  const threads = new Set<Thread>();
  /** By model and parts. */
  const kept = new LRUCache<string, Promise<Encoded>>({ max: MAX_KEPT });
  let lastId = 0;

  function settle(thread: Thread, answer: EncodeAnswer): void {
    const asked = thread.asked.get(answer.id);
    if (asked === undefined) return;
    thread.asked.delete(answer.id);
    queue.finish();
    fill();
    if (thread.asked.size === 0) thread.worker.unref();
    if ('encoded' in answer) asked.resolve(answer.encoded);
    else asked.reject(broken(answer.error));
  }

  /** What a thread that ended had to do fails, and so does what waits where none is left. */
  function end(thread: Thread, reason: string): void {
    if (!threads.delete(thread)) return;
    const left = [...thread.asked.values(), ...(threads.size === 0 ? queue.clear() : [])];
    for (const _ of thread.asked.keys()) queue.finish();
    thread.asked.clear();
    for (const { reject } of left) reject(broken(reason));
  }

  function start(): Thread {
    forbidTelemetry();
    const thread: Thread = {
      worker: new Worker(moduleBeside(import.meta.url, './thread')),
      asked: new Map(),
    };
    thread.worker.on('message', (answer: EncodeAnswer) => settle(thread, answer));
    thread.worker.on('error', (error) => end(thread, error.message));
    thread.worker.on('exit', () => end(thread, 'its thread ended'));
    threads.add(thread);
    return thread;
  }

  /** The thread with the least to do; one more is started where all of them have something. */
  function idlest(): Thread | null {
    const [first] = [...threads].sort((a, b) => a.asked.size - b.asked.size);
    if (first !== undefined && (first.asked.size === 0 || threads.size === most))
      return first.asked.size < IN_THREAD ? first : null;
    return start();
  }

  function fill(): void {
    while (queue.figures.waiting > 0) {
      const thread = idlest();
      const asked = thread === null ? undefined : queue.take();
      if (thread === null || asked === undefined) return;
      const id = ++lastId;
      thread.asked.set(id, asked);
      // What waits keeps the process alive; an idle thread does not.
      thread.worker.ref();
      thread.worker.postMessage({ id, model: asked.model, parts: asked.parts } satisfies EncodeRequest);
    }
  }

  function encodeFor(
    work: QueuedWork<Asked>,
    parts: readonly string[],
    model: ModelName = 'intent',
  ): Promise<Encoded> {
    const key = JSON.stringify([model, ...parts]);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const encoded = new Promise<Encoded>((resolve, reject) => {
      work.push({ model, parts, resolve, reject });
      fill();
    });
    kept.set(key, encoded);
    encoded.catch(() => {
      if (kept.get(key) === encoded) kept.delete(key);
    });
    return encoded;
  }

  function begin(work: EncoderWork): Encoding {
    const queued = queue.begin(work);
    return {
      expect(texts) {
        const refusal = queued.expect(texts);
        if (refusal !== null) throw tooMany(refusal.excessMs);
      },
      encode: (parts, model) => encodeFor(queued, parts, model),
      end: queued.end,
    };
  }

  return {
    async encode(parts, model) {
      const encoding = begin({ owner: '', kind: 'single' });
      try {
        return await encoding.encode(parts, model);
      } finally {
        encoding.end();
      }
    },
    begin,
    figures: queue.figures,
    async close() {
      const ending = [...threads];
      for (const thread of ending) end(thread, 'the server stops');
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
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

/**
 * The encoder where it is wanted and can be used, else null, and the log says which. A package that is there without its
 * native part shows only when it is loaded, so one text is tried.
 */
export async function openEncoder(
  mode: 'auto' | 'off',
  log: { info(text: string): void; warn(text: string): void },
): Promise<Encoder | null> {
  if (mode === 'off') {
    log.info('SIGNAL_ENCODER=off: words alone decide on signals');
    return null;
  }
  const missing = whyNoEncoder();
  const encoder = createEncoder();
  try {
    if (missing !== null) throw new Error(missing);
    await encoder.encode(['ready']);
    return encoder;
  } catch (error) {
    await encoder.close();
    const reason = error instanceof Error ? error.message : String(error);
    log.warn(`no sentence encoder, words alone decide on signals: ${reason}`);
    return null;
  }
}
