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
import { type Encoded, forbidTelemetry, MODEL_FOLDERS, type ModelName } from './load-encoder.ts';

/** Texts into numbers, in a thread of its own; the same text gives the same numbers, however busy the server is. */
export interface Encoder {
  /** Encodes the parts of a text, as a single text without an owner. @throws DomainError `UNAVAILABLE` where the thread broke */
  encode(parts: readonly string[], model?: ModelName): Promise<Encoded>;
  /** Begins work of many texts, which must be ended. */
  begin(work: EncoderWork): Encoding;
  readonly figures: EncoderFigures;
  close(): Promise<void>;
}

/** What callers need that encode one text at a time. */
export type TextEncoding = Pick<Encoder, 'encode'>;

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

/** Why texts are encoded: one post with a caller waiting, many at once, or what a source found. */
const KINDS = ['single', 'batch', 'source'] as const;
export type WorkKind = (typeof KINDS)[number];

/** Who wants texts encoded, and what for. */
export interface EncoderWork {
  /** A tenant's id; '' without an owner. */
  owner: string;
  kind: WorkKind;
}

/** Each kind's share of the encoder's time while all kinds wait; what one kind does not need goes to the others. */
const PARTS: Readonly<Record<WorkKind, number>> = { single: 8, batch: 3, source: 1 };
/** The longest expected wait behind others' texts with which work is taken on. Sources wait as long as it takes. */
const MOST_WAIT_MS: Readonly<Record<WorkKind, number>> = {
  single: 2_500,
  batch: 10_000,
  source: Number.POSITIVE_INFINITY,
};
/** Until it is measured: a text of 128 tokens takes so long on a slow core. */
const FIRST_PACE_MS = 10;
/** The newest text's share in the measured pace. */
const PACE_WEIGHT = 0.05;
/** One text counts for no more than so many: the first one waits half a second for the model to be loaded. */
const MOST_OUTLYING = 4;
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A piece of work that was begun: its texts come one after the other, and as many as it expects are still to come. */
interface Job<T> extends EncoderWork {
  expected: number;
  isEnded: boolean;
  texts: Fifo<{ item: T; askedAt: number }>;
}

/** Texts that wait for the encoder's thread. */
export interface EncoderQueue<T> {
  begin(work: EncoderWork): QueuedWork<T>;
  /** The next text; undefined where none waits. Each that was taken must be {@link finish}ed. */
  take(): T | undefined;
  /** A text that was taken is encoded, or failed. */
  finish(): void;
  clear(): T[];
  readonly figures: EncoderFigures;
}

interface QueuedWork<T> {
  /**
   * How many texts are still to come, as far as can be told. Null: they are waited for; else for how long the work would
   * wait behind others, beyond what is taken on.
   */
  expect(texts: number): { excessMs: number } | null;
  push(item: T): void;
  end(): void;
}

/** How the encoder is doing, for machines that watch. */
export interface EncoderFigures {
  readonly waiting: number;
  /** Work that was refused since the process began. */
  readonly refused: number;
  /** From asking to the thread, and in the thread. */
  readonly waitSeconds: Distribution;
  readonly encodeSeconds: Distribution;
}

/**
 * Texts in the order in which they are encoded: kinds share the encoder's time, a single post's texts nearly always being next;
 * tenants of a kind take turns; of one tenant, what was begun first is finished first. Pure but for `now`, in milliseconds.
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
  /** Taken and not finished: when the first of them began to be encoded. */
  let taken = 0;
  let busySince = 0;
  /** Parts of time that were given out: a kind that had nothing to do gets nothing for it later. */
  let passed = 0;
  const counts = () => KINDS.reduce((sum, kind) => sum + kinds[kind].waiting(), 0);

  /** Texts that will be encoded before those of new work are done. */
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
      const job: Job<T> = { ...work, expected: 0, isEnded: false, texts: createFifo() };
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
      busySince = now(); // the next of those that were taken begins
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
  /** What was begun and not ended, by owner, the oldest first. */
  const jobs = new Map<string, Job<T>[]>();
  /** Owners whose texts wait, the next one first. */
  const ring = new Set<string>();
  let waiting = 0;

  function forget(job: Job<T>): void {
    const left = (jobs.get(job.owner) ?? []).filter((other) => other !== job);
    if (left.length > 0) jobs.set(job.owner, left);
    else jobs.delete(job.owner);
  }

  return {
    /** Parts of the encoder's time that it has used. */
    pass: 0,
    waiting: () => waiting,
    owners: () => jobs.keys(),
    expectedOf(owner: string): number {
      return (jobs.get(owner) ?? []).reduce(
        (sum, { expected, texts }) => sum + Math.max(expected, texts.size),
        0,
      );
    },
    add(job: Job<T>): void {
      const own = jobs.get(job.owner);
      if (own === undefined) jobs.set(job.owner, [job]);
      else own.push(job);
    },
    /** Its texts that wait still have their turn, as others may want the same ones. */
    remove(job: Job<T>): void {
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
