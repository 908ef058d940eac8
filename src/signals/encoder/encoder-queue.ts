import { createDistribution, type Distribution } from '../../lib/distribution.ts';
import { createFifo, type Fifo } from '../../lib/queues.ts';

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
/**
 * The cost by which a tenant that has used less than its share may be ahead of the others of its kind, in the unit of `costOf`: about one
 * batch of 50 short posts, so that the first one of a tenant does not share its time with another's hundreds.
 */
const MOST_AHEAD = 20_000;
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
  /**
   * Takes the next text; undefined if none is waiting. {@link finish} or {@link discard} must be called for each text taken. A text that
   * several works wait for is taken once, in the first turn of any of them.
   */
  take(): T | undefined;
  /** Reports that a taken text was encoded or failed. */
  finish(): void;
  /** Reports that a taken text was not tried, which says nothing about the time that texts take. */
  discard(): void;
  clear(): T[];
  readonly figures: EncoderFigures;
}

export interface QueuedWork<T> {
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
 * always first; tenants with the same kind of work have equal shares of its time; a tenant's work is finished in the order in
 * which it began. Pure, except for `now`, in milliseconds. `costOf` estimates how long a text takes, in any unit.
 */
export function createEncoderQueue<T>(now: () => number, costOf: (item: T) => number): EncoderQueue<T> {
  /** Texts not taken yet; one may be queued for several works. */
  const waiting = new Set<T>();
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, createKind(costOf)])) as Record<
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
          waiting.add(item);
          if (queue.waiting() === 0) queue.pass = Math.max(queue.pass, passed);
          job.texts.push({ item, askedAt: now() });
          queue.wake(job.owner);
        },
        end: () => queue.remove(job),
      };
    },
    take() {
      while (true) {
        const [first] = KINDS.filter((kind) => kinds[kind].waiting() > 0).sort(
          (a, b) => kinds[a].pass - kinds[b].pass,
        );
        const queue = first === undefined ? undefined : kinds[first];
        const text = queue?.take();
        if (first === undefined || queue === undefined || text === undefined) return undefined;
        if (!waiting.delete(text.item)) continue; // taken in the turn of another work
        passed = queue.pass;
        queue.pass += costOf(text.item) / PARTS[first];
        waitSeconds.add((now() - text.askedAt) / 1_000);
        if (taken === 0) busySince = now();
        taken++;
        return text.item;
      }
    },
    finish() {
      const tookMs = now() - busySince;
      busySince = now(); // the next of the taken texts starts
      taken--;
      encodeSeconds.add(tookMs / 1_000);
      paceMs += (Math.min(tookMs, MOST_OUTLYING * paceMs) - paceMs) * PACE_WEIGHT;
    },
    discard() {
      taken--;
    },
    clear() {
      for (const kind of KINDS) kinds[kind].clear();
      const items = [...waiting];
      waiting.clear();
      return items;
    },
    figures: {
      get waiting() {
        return waiting.size;
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

/** The work of one kind: start-time fair queuing of its owners (Goyal, Vin and Cheng, 1996). */
function createKind<T>(costOf: (item: T) => number) {
  /** Unfinished work by owner, oldest first. */
  const jobs = new Map<string, QueuedJob<T>[]>();
  /** Owners with waiting texts. */
  const ready = new Set<string>();
  /** When the next text of an owner is due, in units of cost; also of owners without a waiting text, until then. */
  const dueAt = new Map<string, number>();
  /** When the latest text was due: an owner that had no texts catches up by {@link MOST_AHEAD} at most. */
  let lastDueAt = 0;
  let waiting = 0;

  function nextOwner(): string | undefined {
    let next: string | undefined;
    for (const owner of ready)
      if (next === undefined || (dueAt.get(owner) ?? 0) < (dueAt.get(next) ?? 0)) next = owner;
    return next;
  }

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
      if (ready.has(owner)) return;
      ready.add(owner);
      dueAt.set(owner, Math.max(dueAt.get(owner) ?? Number.NEGATIVE_INFINITY, lastDueAt - MOST_AHEAD));
    },
    take() {
      const owner = nextOwner();
      if (owner === undefined) return undefined;
      const own = jobs.get(owner) ?? [];
      const job = own.find(({ texts }) => texts.size > 0);
      const text = job?.texts.shift();
      if (job === undefined || text === undefined) return undefined;
      waiting--;
      const due = dueAt.get(owner) ?? 0;
      lastDueAt = Math.max(lastDueAt, due);
      dueAt.set(owner, due + costOf(text.item));
      job.expected = Math.max(0, job.expected - 1);
      if (job.isEnded && job.texts.size === 0) forget(job);
      if (!own.some(({ texts }) => texts.size > 0)) ready.delete(owner);
      for (const [other, at] of dueAt) {
        if (at <= lastDueAt - MOST_AHEAD && !ready.has(other)) dueAt.delete(other);
      }
      return text;
    },
    clear(): void {
      for (const { texts } of [...jobs.values()].flat()) texts.clear();
      ready.clear();
      dueAt.clear();
      waiting = 0;
    },
  };
}
