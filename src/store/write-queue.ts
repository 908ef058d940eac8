import type { Clock } from '../lib/clock.ts';
import { createFifo, type Fifo } from '../lib/fifo.ts';
import { DomainError } from '../model/errors.ts';

/** What became of a batch: what each change came to, in their order, and which of them failed. */
export interface Committed {
  /** Undefined where the change failed. */
  values: unknown[];
  failed: { index: number; error: unknown }[];
}

export interface WriteQueueOptions<Change> {
  /** Stores a batch, one at a time; resolves after COMMIT. Rejects only where nothing can be stored ever again. */
  commit(batch: Change[]): Promise<Committed>;
  /** Whose it is: owners take turns. Left out: all are one owner's. */
  ownerOf?(change: Change): string;
  /** About how many microseconds of the writer it takes. Left out: nothing. */
  costOf?(change: Change): number;
  /** Measures what a batch takes against what it was to cost. Left out: it takes what it costs. */
  clock?: Clock;
  maxBatch?: number;
  maxQueued?: number;
}

/** A batch is full when it costs this much: whoever comes next waits for all of it, and then for their own. */
const MOST_COST_US = 30_000;

/** Of a smaller batch most is the flush of the disk, so that it only tells where the writer is faster than was thought. */
const TELLING_COST_US = 10_000;
/** A batch's share in the mean, and how far from the mean it may be: a disk that stood still once says little. */
const PACE_SHARE = 0.2;
const SLOWEST_PACE = 20;

/** Group commit: changes that come while a batch is under way share the next one, and so one flush of the disk. */
export interface WriteQueue<Change> {
  /**
   * Resolves after COMMIT with what the change came to.
   * @throws DomainError UNAVAILABLE where the storage failed or the queue is full: nothing is stored then.
   */
  run(change: Change): Promise<unknown>;
  /** Changes that wait for their commit, those under way included. */
  readonly length: number;
  readonly limit: number;
  /** About how many milliseconds a change of this owner would wait that came now: what those before it cost, at the present pace. */
  waitMs(owner: string): number;
  /** False once later changes are refused for good. */
  readonly accepting: boolean;
  /** Refuses later changes; resolves when those before are committed. */
  close(): Promise<void>;
}

interface Entry<Change> {
  change: Change;
  cost: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** What waits of one owner, and what it costs in all. */
interface OwnQueue<Change> {
  entries: Fifo<Entry<Change>>;
  cost: number;
}

/**
 * States: idle, or a batch is under way. A change that comes to an idle queue goes at once, with what else is asked for in the
 * same breath; nothing waits for company that may not come. The busier it gets, the longer a batch takes and the more
 * gathers for the next, up to what others can be let wait for. Those of one owner keep their order; owners take turns, one
 * change at a time, so that who brings a thousand holds up nobody who brings one.
 */
export function createWriteQueue<Change>(options: WriteQueueOptions<Change>): WriteQueue<Change> {
  const { commit, ownerOf = () => '', costOf = () => 0, clock } = options;
  const { maxBatch = 200, maxQueued = 20_000 } = options;
  const queues = new Map<string, OwnQueue<Change>>();
  const turns = createFifo<string>();
  let waiting = 0;
  let waitingCost = 0;
  let underWay: Entry<Change>[] = [];
  let sentAt = 0;
  /** What a batch takes, as a multiple of what it costs. */
  let pace = 1;
  let refusal: DomainError | null = null;
  let onIdle: (() => void) | null = null;

  function send(): void {
    underWay = takeBatch();
    sentAt = clock?.monotonic() ?? 0;
    if (underWay.length === 0) onIdle?.();
    else commit(underWay.map(({ change }) => change)).then(settle, end);
  }

  function add(entry: Entry<Change>): void {
    waiting++;
    waitingCost += entry.cost;
    const owner = ownerOf(entry.change);
    let queue = queues.get(owner);
    if (queue === undefined) {
      queue = { entries: createFifo(), cost: 0 };
      queues.set(owner, queue);
      turns.push(owner);
    }
    queue.entries.push(entry);
    queue.cost += entry.cost;
  }

  function takeBatch(): Entry<Change>[] {
    const batch: Entry<Change>[] = [];
    let cost = 0;
    while (batch.length < maxBatch && cost < MOST_COST_US) {
      const owner = turns.shift();
      if (owner === undefined) break;
      const queue = queues.get(owner);
      const entry = queue?.entries.shift();
      if (queue === undefined || queue.entries.size === 0) queues.delete(owner);
      else turns.push(owner);
      if (queue === undefined || entry === undefined) continue;
      waiting--;
      waitingCost -= entry.cost;
      queue.cost -= entry.cost;
      cost += entry.cost;
      batch.push(entry);
    }
    return batch;
  }

  function learn(): void {
    const costUs = underWay.reduce((sum, { cost }) => sum + cost, 0);
    if (clock === undefined) return;
    const took = ((clock.monotonic() - sentAt) * 1_000) / costUs;
    if (costUs >= TELLING_COST_US || took < pace) pace += (Math.min(SLOWEST_PACE, took) - pace) * PACE_SHARE;
  }

  function settle({ values, failed }: Committed): void {
    learn();
    for (const { index, error } of failed) underWay[index]?.reject(error);
    // Those that failed are settled: resolving them as well does nothing.
    for (const [index, entry] of underWay.entries()) entry.resolve(values[index]);
    send();
  }

  function end(cause: unknown): void {
    refusal = unavailable('The storage stopped unexpectedly.');
    refusal.cause = cause;
    for (; underWay.length > 0; underWay = takeBatch()) {
      for (const entry of underWay) entry.reject(refusal);
    }
    onIdle?.();
  }

  return {
    get length() {
      return waiting + underWay.length;
    },
    limit: maxQueued,
    waitMs(owner) {
      // In each round all owners have one turn: nobody waits longer than for all, nor for more rounds than they have changes.
      const own = (queues.get(owner)?.cost ?? 0) * Math.max(1, queues.size);
      return (Math.min(waitingCost, own) / 1_000) * pace;
    },
    get accepting() {
      return refusal === null;
    },
    run(change) {
      if (refusal !== null) return Promise.reject(refusal);
      if (waiting + underWay.length >= maxQueued) {
        return Promise.reject(unavailable('Too many changes wait to be stored.'));
      }
      return new Promise((resolve, reject) => {
        add({ change, cost: costOf(change), resolve, reject });
        if (underWay.length === 0 && waiting === 1) queueMicrotask(send);
      });
    },
    async close() {
      refusal ??= unavailable('The storage is being closed.');
      if (waiting + underWay.length > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
  };
}

/** The error of what could not be stored, and may be tried again; `storage` where it was the storage that failed. */
export function unavailable(detail: string, storage?: 'full' | 'outage'): DomainError {
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1, ...(storage && { storage }) });
}
