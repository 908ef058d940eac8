import { createDistribution, type Distribution } from '../../lib/distribution.ts';
import { createFifo, type Fifo } from '../../lib/queues.ts';

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

export interface QueuedWork<T> {
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
