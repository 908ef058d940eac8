import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { type Clock, systemClock, type Timer } from '../../lib/clock.ts';
import { moduleBeside } from '../../lib/package.ts';
import { shared } from '../../lib/yielding.ts';
import { DomainError } from '../../model/errors.ts';
import { knownNeeds, NEEDS_FILE } from '../needs.ts';
import { knownWording, WORDING_FILE } from '../wording.ts';
import {
  createEncoderQueue,
  type EncoderFigures,
  type EncoderWork,
  type QueuedWork,
} from './encoder-queue.ts';
import {
  CLOSE,
  type Encoded,
  forbidTelemetry,
  MODEL_FOLDERS,
  type ModelName,
  SUMS_FILE,
} from './load-encoder.ts';

/**
 * Computes embeddings of texts, in threads. The same text always gives the same vector, whatever the load.
 */
export interface Encoder {
  /**
   * Encodes the parts of a single text, without an owner. @throws DomainError `UNAVAILABLE` if the thread
   * failed
   */
  encode(parts: readonly string[], model?: ModelName): Promise<Encoded>;
  /** Begins work on several texts. The caller must end it. */
  begin(work: EncoderWork): Encoding;
  readonly figures: EncoderFigures;
  close(): Promise<void>;
}

/** For callers that encode one text at a time. */
export type TextEncoding = Pick<Encoder, 'encode'>;

/** Work on several texts. */
export interface Encoding {
  /**
   * Announces the estimated number of texts still to come. The first call, before any text, decides whether
   * the work is accepted; accepted work is completed, however long it takes.
   * @throws DomainError `UNAVAILABLE` if it would wait too long for other texts
   */
  expect(texts: number): void;
  /**
   * Encodes the parts of a text, such as its sentences. @throws DomainError `UNAVAILABLE` if the thread
   * failed
   */
  encode(parts: readonly string[], model?: ModelName): Promise<Encoded>;
  end(): void;
}

/** Texts sent to a thread at once, so that the next one is ready when one is done. */
const IN_THREAD = 2;
/** The event loop, the writer and the sender need cores, too; each thread takes 60 MB per model. */
const CORES_A_THREAD = 2;
const MOST_THREADS = 2;
/** Cached embeddings, 3 to 20 KB each: a post that repeats within a batch or across sources is encoded once. */
const MAX_KEPT = 1_024;
const BROKEN_RETRY_SECONDS = 3;
/** How long texts of a model that could not be loaded fail with it, before it is tried again. */
const UNLOADED_MS = 1_000;
const MAX_RETRY_SECONDS = 60;
/** More than a text and loading its model take. */
const LONGEST_TEXT_MS = 10_000;
/**
 * A thread is given up after so many periods without a reply. After the process was suspended, a single timer would end before
 * replies are read.
 */
const SILENT_PERIODS = 3;
/**
 * Maximum number of threads that were given up: each keeps its memory and perhaps a core, because terminating a thread in native code
 * aborts the process. With so many, texts fail until one of them replies.
 */
const MOST_GIVEN_UP = 2;
/** How long a closing encoder waits for the texts in progress; a text takes a tenth of a second, loading its model up to two. */
const CLOSING_MS = 2_000;
const SILENT = `its thread has not replied for ${(SILENT_PERIODS * LONGEST_TEXT_MS) / 1_000} s`;

/** Messages to and from a thread. */
export interface EncodeRequest {
  id: number;
  model: ModelName;
  parts: readonly string[];
}
export type EncodeAnswer =
  | { id: number; encoded: Encoded }
  | { id: number; error: string /** Otherwise, the model cannot be loaded. */; isLoaded: boolean };

const SHIPPED_FILES = [
  ...Object.values(MODEL_FOLDERS).map((folder) => join(folder, 'model.onnx')),
  NEEDS_FILE,
  WORDING_FILE,
  SUMS_FILE,
];

/** Why the encoder cannot be used; null if it can. Checks without loading anything; `files` are those that it needs. */
export function whyNoEncoder(files?: readonly string[]): string | null {
  const { resolve } = createRequire(import.meta.url);
  for (const name of ['onnxruntime-node', '@huggingface/tokenizers']) {
    try {
      resolve(name);
    } catch {
      return `the optional package ${name} is not installed (npm's --ignore-scripts installs it without what its own script downloads)`;
    }
  }
  const needed = files ?? [...SHIPPED_FILES, ...nativeFiles(dirname(resolve('onnxruntime-node')))];
  const missing = needed.find((file) => !existsSync(file));
  if (missing !== undefined) return `there is no ${missing}`;
  const cut = needed.find(isCut);
  return cut === undefined ? null : `the end of ${cut} is missing: install the package again`;
}

/** The libraries of onnxruntime-node, whose modules are in `folder`, for this system. */
function nativeFiles(folder: string): string[] {
  const natives = join(folder, '../bin/napi-v6', process.platform, process.arch);
  return existsSync(natives) ? readdirSync(natives).map((name) => join(natives, name)) : [];
}

/** The fields of the header of a 64-bit ELF file: where the table of its sections starts, the size of an entry, and their number. */
const ELF = { magic: '7f454c460201', bytes: 64, tableAt: 0x28, entrySizeAt: 0x3a, entriesAt: 0x3c };

/** Whether a Linux library ends before the table of its sections, which comes last: loading it ends the process with SIGBUS. */
function isCut(file: string): boolean {
  const header = Buffer.alloc(ELF.bytes);
  const opened = openSync(file, 'r');
  try {
    if (readSync(opened, header) < ELF.bytes || !header.toString('hex').startsWith(ELF.magic)) return false;
    const table = Number(header.readBigUInt64LE(ELF.tableAt));
    const tableBytes = header.readUInt16LE(ELF.entrySizeAt) * header.readUInt16LE(ELF.entriesAt);
    return fstatSync(opened).size < table + tableBytes;
  } finally {
    closeSync(opened);
  }
}

interface PendingText extends Omit<EncodeRequest, 'id'> {
  key: string;
  encoded: Promise<Encoded>;
  /** The works that wait for it. */
  works: Set<QueuedWork<PendingText>>;
  resolve(encoded: Encoded): void;
  reject(error: Error): void;
}

interface EncoderThread {
  worker: Worker;
  /** By id. */
  pending: Map<number, PendingText>;
  /** Pending while it has texts and does not reply. */
  silence: Timer | null;
}

/** The time that a text takes is that of about a hundred characters, and that of its own, of which the model reads so many at most. */
const COST = { text: 100, mostCharacters: 650 };

/** The estimated time of a text, in characters: 3 ms for 20, 5 for 100, 17 for 700 and more. */
function costOf({ parts }: Pick<PendingText, 'parts'>): number {
  const characters = parts.reduce((sum, { length }) => sum + length, 0);
  return COST.text + Math.min(characters, COST.mostCharacters);
}

function threadsFor(cores: number): number {
  return Math.max(1, Math.min(MOST_THREADS, Math.floor(cores / CORES_A_THREAD)));
}

/**
 * Creates an encoder that starts a thread with the first text, and further ones when there is work for them.
 */
export function createEncoder({
  clock = systemClock,
  threads: most = threadsFor(availableParallelism()),
  onFault,
}: {
  clock?: Pick<Clock, 'monotonic' | 'after'>;
  /** Receives what is wrong, once until a text is encoded again. */
  onFault?: (reason: string) => void;
  threads?: number;
} = {}): Encoder {
  const queue = createEncoderQueue<PendingText>(clock.monotonic, costOf);
  const threads = new Set<EncoderThread>();
  const givenUp = new Set<Worker>();
  /** Texts that no thread has yet, by model and parts. */
  const waiting = new Map<string, PendingText>();
  /** By model and parts. */
  const kept = new LRUCache<string, Promise<Encoded>>({ max: MAX_KEPT });
  /** Models that could not be loaded. */
  const unloaded = new Map<ModelName, { until: number; reason: string }>();
  let lastId = 0;

  let lastFault = '';

  /** Once until it works again, not for each text. */
  function noteFault(reason: string): void {
    if (reason !== lastFault) onFault?.(reason);
    lastFault = reason;
  }

  function settle(thread: EncoderThread, answer: EncodeAnswer): void {
    const text = thread.pending.get(answer.id);
    if (text === undefined) return;
    thread.pending.delete(answer.id);
    watch(thread);
    queue.finish();
    if ('error' in answer && !answer.isLoaded) {
      unloaded.set(text.model, { until: clock.monotonic() + UNLOADED_MS, reason: answer.error });
    }
    fill();
    if (thread.pending.size === 0) thread.worker.unref();
    if ('encoded' in answer) {
      lastFault = '';
      text.resolve(answer.encoded);
    } else {
      noteFault(answer.error);
      text.reject(broken(answer.error));
    }
  }

  /** Rejects the texts of a thread that ended, and all waiting texts if it was the last thread. */
  function end(thread: EncoderThread, reason: string): void {
    if (!threads.delete(thread)) return;
    thread.silence?.cancel();
    const left = [...thread.pending.values(), ...(threads.size === 0 ? queue.clear() : [])];
    if (threads.size === 0) waiting.clear();
    for (const _ of thread.pending.keys()) queue.finish();
    thread.pending.clear();
    for (const { reject } of left) reject(broken(reason));
  }

  function watch(thread: EncoderThread): void {
    thread.silence?.cancel();
    thread.silence = null;
    let periods = 0;
    const wait = () => {
      if (++periods > SILENT_PERIODS) giveUp(thread);
      else thread.silence = clock.after(LONGEST_TEXT_MS, wait);
    };
    if (thread.pending.size > 0) wait();
  }

  function giveUp(thread: EncoderThread): void {
    const { worker } = thread;
    noteFault(SILENT);
    end(thread, SILENT);
    worker.unref();
    void leave(worker);
  }

  /** Terminates a thread once it has no text in progress: if it ends while its native code is running, the process is aborted. */
  async function leave(worker: Worker): Promise<void> {
    if (givenUp.size === 0) process.on('exit', endNow);
    givenUp.add(worker);
    await untilIdle(worker);
    await worker.terminate();
    givenUp.delete(worker);
    if (givenUp.size === 0) process.off('exit', endNow);
  }

  function start(): EncoderThread {
    forbidTelemetry();
    const thread: EncoderThread = {
      worker: new Worker(moduleBeside(import.meta.url, './thread'), {
        // The model's numbers are outside the heap: V8's default of 96 MiB would only fill up.
        resourceLimits: { maxYoungGenerationSizeMb: 12 },
      }),
      pending: new Map(),
      silence: null,
    };
    thread.worker.on('message', (answer: EncodeAnswer) => settle(thread, answer));
    thread.worker.on('error', (error) => end(thread, error.message));
    thread.worker.on('exit', () => end(thread, 'its thread ended'));
    threads.add(thread);
    return thread;
  }

  /**
   * The thread with the fewest texts; starts another one if all are busy. Null if none has room. @throws Error if there is
   * none, and the system allows no further one
   */
  function idlest(): EncoderThread | null {
    const [first] = [...threads].sort((a, b) => a.pending.size - b.pending.size);
    const isFull = threads.size === most || givenUp.size >= MOST_GIVEN_UP;
    if (first === undefined) return start();
    if (first.pending.size > 0 && !isFull) {
      try {
        return start();
      } catch {
        // The system allows no further thread.
      }
    }
    return first.pending.size < IN_THREAD ? first : null;
  }

  /** Called in events of threads, where an error would end the process. */
  function fill(): void {
    try {
      fillThreads();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      for (let text = take(); text !== undefined; text = take()) {
        queue.discard();
        text.reject(broken(reason));
      }
    }
  }

  function take(): PendingText | undefined {
    const text = queue.take();
    if (text !== undefined) waiting.delete(text.key);
    return text;
  }

  function fillThreads(): void {
    while (queue.figures.waiting > 0) {
      const thread = idlest();
      const text = thread === null ? undefined : take();
      if (thread === null || text === undefined) return;
      // Each would take as long as loading does, and everybody would wait for hundreds of them.
      const failure = unloaded.get(text.model);
      if (failure !== undefined && clock.monotonic() < failure.until) {
        queue.discard();
        text.reject(broken(failure.reason));
        continue;
      }
      const id = ++lastId;
      thread.pending.set(id, text);
      if (thread.pending.size === 1) watch(thread);
      // Pending texts keep the process alive; an idle thread does not.
      thread.worker.ref();
      thread.worker.postMessage({ id, model: text.model, parts: text.parts } satisfies EncodeRequest);
    }
  }

  function encodeFor(
    work: QueuedWork<PendingText>,
    parts: readonly string[],
    model: ModelName = 'intent',
  ): Promise<Encoded> {
    const key = JSON.stringify([model, ...parts]);
    // Queued for this work, too: a single post does not wait for the turn of a batch that asked for the text first.
    const asked = waiting.get(key);
    if (asked !== undefined) {
      if (!asked.works.has(work)) work.push(asked);
      asked.works.add(work);
      return shared(asked.encoded);
    }
    const known = kept.get(key);
    if (known !== undefined) return shared(known);
    if (threads.size === 0 && givenUp.size >= MOST_GIVEN_UP) return Promise.reject(broken(SILENT));
    const { promise: encoded, resolve, reject } = Promise.withResolvers<Encoded>();
    const text = { key, model, parts, encoded, works: new Set([work]), resolve, reject };
    waiting.set(key, text);
    work.push(text);
    fill();
    kept.set(key, encoded);
    encoded.catch(() => {
      if (kept.get(key) === encoded) kept.delete(key);
    });
    return shared(encoded);
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
      for (const thread of ending) end(thread, 'the server is stopping');
      const { promise: isLate, resolve } = Promise.withResolvers<void>();
      const timer = clock.after(CLOSING_MS, resolve);
      for (const { worker } of ending) worker.ref(); // an idle one does not keep the process alive until it has replied
      await Promise.race([Promise.all(ending.map(({ worker }) => leave(worker))), isLate]);
      timer.cancel();
      for (const { worker } of ending) worker.unref();
    },
  };
}

/** Node's exit waits for the native code of every thread, and a text that hangs never ends. Everything else is stored by now. */
function endNow(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Tells a thread to begin no further text; resolves when it has completed the one in progress, or has ended. */
function untilIdle(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.on('message', (message) => void (message === CLOSE && resolve()));
    worker.on('exit', () => resolve());
    worker.postMessage(CLOSE);
  });
}

function tooMany(excessMs: number): DomainError {
  const seconds = Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil(excessMs / 1_000)));
  return new DomainError('UNAVAILABLE', 'Too many posts are waiting to be scored. Nothing was changed.', {
    hint: `Wait ${seconds} second${seconds === 1 ? '' : 's'} (Retry-After), then try again.`,
    retryAfterSeconds: seconds,
  });
}

function broken(reason: string): DomainError {
  const error = new DomainError(
    'UNAVAILABLE',
    'The sentence encoder failed. Nothing was stored; try again shortly.',
    {
      retryAfterSeconds: BROKEN_RETRY_SECONDS,
    },
  );
  error.cause = new Error(reason); // for the log: it names files of the server
  return error;
}

/**
 * Opens the encoder if it is enabled and usable, otherwise returns null; logs which. A package without its
 * native part fails only when it is loaded, and so does a damaged model: one text is encoded with each as a test.
 */
export async function openEncoder(
  mode: 'auto' | 'off',
  log: { info(text: string): void; warn(text: string): void },
  create = createEncoder,
): Promise<Encoder | null> {
  if (mode === 'off') {
    log.info('SIGNAL_ENCODER=off: signals are scored by words alone');
    return null;
  }
  const missing = whyNoEncoder();
  let isOpen = false;
  const encoder = create({
    onFault: (reason) => isOpen && log.warn(`the sentence encoder failed, posts get 503: ${reason}`),
  });
  try {
    if (missing !== null) throw new Error(missing);
    for (const read of [knownNeeds, knownWording]) read(); // throws if they are incomplete
    for (const model of ['intent', 'offers'] as const) await encoder.encode(['ready'], model);
    isOpen = true;
    return encoder;
  } catch (error) {
    await encoder.close();
    const cause = error instanceof DomainError ? error.cause : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    log.warn(`no sentence encoder, signals are scored by words alone: ${reason}`);
    return null;
  }
}
