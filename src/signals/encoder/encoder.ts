import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createDistribution, type Distribution } from '../../lib/distribution.ts';
import { moduleBeside } from '../../lib/package.ts';
import { createFifo, type Fifo } from '../../lib/queues.ts';
import { DomainError } from '../../model/errors.ts';
import { knownNeeds, NEEDS_FILE } from '../needs.ts';
import { type Encoded, forbidTelemetry, MODEL_FOLDERS, type ModelName } from './load-encoder.ts';

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
const MAX_RETRY_SECONDS = 60;

/** Messages to and from a thread. */
export interface EncodeRequest {
  id: number;
  model: ModelName;
  parts: readonly string[];
}
export type EncodeAnswer = { id: number; encoded: Encoded } | { id: number; error: string };

const SHIPPED_FILES = [
  ...Object.values(MODEL_FOLDERS).map((folder) => join(folder, 'model.onnx')),
  NEEDS_FILE,
];

/** Why the encoder cannot be used; null if it can. Checks without loading anything. */
export function whyNoEncoder(files: readonly string[] = SHIPPED_FILES): string | null {
  const { resolve } = createRequire(import.meta.url);
  for (const name of ['onnxruntime-node', '@huggingface/tokenizers']) {
    try {
      resolve(name);
    } catch {
      return `the optional package ${name} is not installed (npm's --ignore-scripts installs it without what its own script downloads)`;
    }
  }
  const missing = files.find((file) => !existsSync(file));
  return missing === undefined ? null : `there is no ${missing}`;
}

interface PendingText extends Omit<EncodeRequest, 'id'> {
  resolve(encoded: Encoded): void;
  reject(error: Error): void;
}

interface EncoderThread {
  worker: Worker;
  /** By id. */
  pending: Map<number, PendingText>;
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
}: {
  clock?: Pick<Clock, 'monotonic'>;
  threads?: number;
} = {}): Encoder {
  const queue = createEncoderQueue<PendingText>(clock.monotonic);
  const threads = new Set<EncoderThread>();
  /** By model and parts. */
  const kept = new LRUCache<string, Promise<Encoded>>({ max: MAX_KEPT });
  let lastId = 0;

  function settle(thread: EncoderThread, answer: EncodeAnswer): void {
    const text = thread.pending.get(answer.id);
    if (text === undefined) return;
    thread.pending.delete(answer.id);
    queue.finish();
    fill();
    if (thread.pending.size === 0) thread.worker.unref();
    if ('encoded' in answer) text.resolve(answer.encoded);
    else text.reject(broken(answer.error));
  }

  /** Rejects the texts of a thread that ended, and all waiting texts if it was the last thread. */
  function end(thread: EncoderThread, reason: string): void {
    if (!threads.delete(thread)) return;
    const left = [...thread.pending.values(), ...(threads.size === 0 ? queue.clear() : [])];
    for (const _ of thread.pending.keys()) queue.finish();
    thread.pending.clear();
    for (const { reject } of left) reject(broken(reason));
  }

  function start(): EncoderThread {
    forbidTelemetry();
    const thread: EncoderThread = {
      worker: new Worker(moduleBeside(import.meta.url, './thread'), {
        // The model's numbers are outside the heap: V8's default of 96 MiB would only fill up.
        resourceLimits: { maxYoungGenerationSizeMb: 12 },
      }),
      pending: new Map(),
    };
    thread.worker.on('message', (answer: EncodeAnswer) => settle(thread, answer));
    thread.worker.on('error', (error) => end(thread, error.message));
    thread.worker.on('exit', () => end(thread, 'its thread ended'));
    threads.add(thread);
    return thread;
  }

  /** The thread with the fewest texts; starts another one if all are busy. */
  function idlest(): EncoderThread | null {
    const [first] = [...threads].sort((a, b) => a.pending.size - b.pending.size);
    if (first !== undefined && (first.pending.size === 0 || threads.size === most))
      return first.pending.size < IN_THREAD ? first : null;
    return start();
  }

  function fill(): void {
    while (queue.figures.waiting > 0) {
      const thread = idlest();
      const text = thread === null ? undefined : queue.take();
      if (thread === null || text === undefined) return;
      const id = ++lastId;
      thread.pending.set(id, text);
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
      for (const thread of ending) end(thread, 'the server is stopping');
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  };
}

function tooMany(excessMs: number): DomainError {
  const seconds = Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil(excessMs / 1_000)));
  return new DomainError('UNAVAILABLE', 'Too many posts are waiting to be scored. Nothing was changed.', {
    hint: `Wait ${seconds} second${seconds === 1 ? '' : 's'} (Retry-After), then try again.`,
    retryAfterSeconds: seconds,
  });
}

function broken(reason: string): DomainError {
  const detail = `The sentence encoder failed (${reason}); the post was not stored.`;
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: BROKEN_RETRY_SECONDS });
}

/**
 * Opens the encoder if it is enabled and usable, otherwise returns null; logs which. A package without its
 * native part fails only when it is loaded, so one text is encoded as a test.
 */
export async function openEncoder(
  mode: 'auto' | 'off',
  log: { info(text: string): void; warn(text: string): void },
): Promise<Encoder | null> {
  if (mode === 'off') {
    log.info('SIGNAL_ENCODER=off: signals are scored by words alone');
    return null;
  }
  const missing = whyNoEncoder();
  const encoder = createEncoder();
  try {
    if (missing !== null) throw new Error(missing);
    knownNeeds(); // throws if they are incomplete
    await encoder.encode(['ready']);
    return encoder;
  } catch (error) {
    await encoder.close();
    const reason = error instanceof Error ? error.message : String(error);
    log.warn(`no sentence encoder, signals are scored by words alone: ${reason}`);
    return null;
  }
}

/** The kinds of work: one post with a waiting caller, a batch, or posts from a source. */
const KINDS = ['single', 'batch', 'source'] as const;
export type WorkKind = (typeof KINDS)[number];

/** The owner and kind of work. */
export interface EncoderWork {
  /** A tenant's id; '' without an owner. */
  owner: string;
  kind: WorkKind;
}

/** Each kind's share of the encoder's time while all kinds are waiting. Unused shares go to the others. */
const PARTS: Readonly<Record<WorkKind, number>> = { single: 8, batch: 3, source: 1 };
/**
 * Maximum expected wait for other texts with which work is accepted. Work from sources waits as long as
 * necessary.
 */
const MOST_WAIT_MS: Readonly<Record<WorkKind, number>> = {
  single: 2_500,
  batch: 10_000,
  source: Number.POSITIVE_INFINITY,
};
/** Estimate until it is measured: the time of a text of 128 tokens on a slow core. */
const FIRST_PACE_MS = 10;
/** The weight of the newest text in the measured time per text. */
const PACE_WEIGHT = 0.05;
/** Longer times are capped at this multiple: the first text waits half a second for the model to load. */
const MOST_OUTLYING = 4;
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Work in progress: its texts are encoded in order, and `expected` more are to come. */
interface QueuedJob<T> extends EncoderWork {
  expected: number;
  isEnded: boolean;
  texts: Fifo<{ item: T; askedAt: number }>;
}

/** Texts waiting for the encoder's threads. */
export interface EncoderQueue<T> {
  begin(work: EncoderWork): QueuedWork<T>;
  /** Takes the next text; undefined if none is waiting. {@link finish} must be called for each text taken. */
  take(): T | undefined;
  /** Reports that a taken text was encoded or failed. */
  finish(): void;
  clear(): T[];
  readonly figures: EncoderFigures;
}

interface QueuedWork<T> {
  /**
   * Announces the estimated number of texts still to come. Returns null if the work is accepted, otherwise by
   * how much the expected wait exceeds the limit.
   */
  expect(texts: number): { excessMs: number } | null;
  push(item: T): void;
  end(): void;
}

/** Metrics of the encoder. */
export interface EncoderFigures {
  readonly waiting: number;
  /** Amount of work rejected since the process started. */
  readonly refused: number;
  /** Time until a text reaches the thread, and time in the thread. */
  readonly waitSeconds: Distribution;
  readonly encodeSeconds: Distribution;
}

/**
 * Orders the texts to encode. Kinds of work share the encoder's time, with texts of single posts nearly
 * always first; tenants with the same kind of work take turns; a tenant's work is finished in the order in
 * which it began. Pure, except for `now`, in milliseconds.
 */
export function createEncoderQueue<T>(now: () => number): EncoderQueue<T> {
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, createKind<T>()])) as Record<
    WorkKind,
    KindQueue<T>
  >;
  const waitSeconds = createDistribution(SECONDS);
  const encodeSeconds = createDistribution(SECONDS);
  let paceMs = FIRST_PACE_MS;
  let refused = 0;
  /** Number of texts taken and not finished, and when the first of them started. */
  let taken = 0;
  let busySince = 0;
  /** The virtual time of the scheduler: a kind that had no work does not catch up later. */
  let passed = 0;
  const counts = () => KINDS.reduce((sum, kind) => sum + kinds[kind].waiting(), 0);

  /** Number of texts that will be encoded before those of new work are done. */
  function aheadOf({ kind, owner }: EncoderWork, texts: number): number {
    const own = kinds[kind].expectedOf(owner);
    let ahead = taken + own;
    for (const other of kinds[kind].owners()) {
      if (other !== owner) ahead += Math.min(kinds[kind].expectedOf(other), own + texts);
    }
    return kind === 'batch' ? ahead + kinds.single.waiting() : ahead;
  }

  return {
    begin(work) {
      const queue = kinds[work.kind];
      const job: QueuedJob<T> = { ...work, expected: 0, isEnded: false, texts: createFifo() };
      let isTakenOn = false;
      return {
        expect(texts) {
          if (!isTakenOn) {
            const waitMs = aheadOf(work, texts) * paceMs;
            const excessMs = waitMs - MOST_WAIT_MS[work.kind];
            if (texts > 0 && excessMs > 0) {
              refused++;
              return { excessMs };
            }
            isTakenOn = true;
            queue.add(job);
          }
          job.expected = texts;
          return null;
        },
        push(item) {
          if (!isTakenOn) queue.add(job);
          isTakenOn = true;
          if (queue.waiting() === 0) queue.pass = Math.max(queue.pass, passed);
          job.texts.push({ item, askedAt: now() });
          queue.wake(job.owner);
        },
        end: () => queue.remove(job),
      };
    },
    take() {
      const waiting = KINDS.filter((kind) => kinds[kind].waiting() > 0);
      const [first] = waiting.sort((a, b) => kinds[a].pass - kinds[b].pass);
      if (first === undefined) return undefined;
      const queue = kinds[first];
      passed = queue.pass;
      queue.pass += 1 / PARTS[first];
      const text = queue.take();
      if (text === undefined) return undefined;
      waitSeconds.add((now() - text.askedAt) / 1_000);
      if (taken === 0) busySince = now();
      taken++;
      return text.item;
    },
    finish() {
      const tookMs = now() - busySince;
      busySince = now(); // the next of the taken texts starts
      taken--;
      encodeSeconds.add(tookMs / 1_000);
      paceMs += (Math.min(tookMs, MOST_OUTLYING * paceMs) - paceMs) * PACE_WEIGHT;
    },
    clear: () => KINDS.flatMap((kind) => kinds[kind].clear()),
    figures: {
      get waiting() {
        return counts();
      },
      get refused() {
        return refused;
      },
      waitSeconds,
      encodeSeconds,
    },
  };
}

type KindQueue<T> = ReturnType<typeof createKind<T>>;

/** The work of one kind. */
function createKind<T>() {
  /** Unfinished work by owner, oldest first. */
  const jobs = new Map<string, QueuedJob<T>[]>();
  /** Owners with waiting texts, in order of their turns. */
  const ring = new Set<string>();
  let waiting = 0;

  function forget(job: QueuedJob<T>): void {
    const left = (jobs.get(job.owner) ?? []).filter((other) => other !== job);
    if (left.length > 0) jobs.set(job.owner, left);
    else jobs.delete(job.owner);
  }

  return {
    /** Virtual time that the kind has used. */
    pass: 0,
    waiting: () => waiting,
    owners: () => jobs.keys(),
    expectedOf(owner: string): number {
      return (jobs.get(owner) ?? []).reduce(
        (sum, { expected, texts }) => sum + Math.max(expected, texts.size),
        0,
      );
    },
    add(job: QueuedJob<T>): void {
      const own = jobs.get(job.owner);
      if (own === undefined) jobs.set(job.owner, [job]);
      else own.push(job);
    },
    /** Removes work. Its waiting texts keep their turn, because others may want the same texts. */
    remove(job: QueuedJob<T>): void {
      job.expected = 0;
      job.isEnded = true;
      if (job.texts.size === 0) forget(job);
    },
    wake(owner: string): void {
      waiting++;
      ring.add(owner);
    },
    take() {
      const [owner] = ring;
      if (owner === undefined) return undefined;
      ring.delete(owner);
      const own = jobs.get(owner) ?? [];
      const job = own.find(({ texts }) => texts.size > 0);
      if (job === undefined) return undefined;
      const text = job.texts.shift();
      waiting--;
      job.expected = Math.max(0, job.expected - 1);
      if (job.isEnded && job.texts.size === 0) forget(job);
      if (own.some(({ texts }) => texts.size > 0)) ring.add(owner);
      return text;
    },
    clear(): T[] {
      const items: T[] = [];
      for (const { texts } of [...jobs.values()].flat()) {
        for (let text = texts.shift(); text !== undefined; text = texts.shift()) items.push(text.item);
      }
      ring.clear();
      waiting = 0;
      return items;
    },
  };
}
