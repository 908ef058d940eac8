import type { Clock } from '../lib/clock.ts';
import { createFifo, type Fifo } from '../lib/queues.ts';
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
  /** A batch goes to be committed; the function returned is called before its changes are answered, with null where it was lost. */
  watch?(batch: readonly Change[]): (committed: Committed | null) => void;
  /** Whose it is: owners take turns, by cost. Left out: all are one owner's. */
  ownerOf?(change: Change): string;
  /** The share of each batch that an owner has before the others take turns; 0: it takes turns. Omitted: no owner has one. */
  shareOf?(owner: string): number;
  /** About how many microseconds of the writer it takes. Left out: nothing. */
  costOf?(change: Change): number;
  /** Measures what a batch takes against what it was to cost. Left out: it takes what it costs. */
  clock?: Clock;
  maxBatch?: number;
  maxQueued?: number;
}

/** A batch is full at this cost: the next change waits for the whole batch, and then for its own. */
const MOST_COST_US = 30_000;

/** Of a smaller batch most is the flush of the disk, so that it only tells where the writer is faster than was thought. */
const TELLING_COST_US = 10_000;
/** A batch's share in the mean, and how far from the mean it may be: a disk that stood still once says little. */
const PACE_SHARE = 0.2;
const SLOWEST_PACE = 20;

/** What an owner may cost in each round: about one post, so that a thousand owners each wait for as many posts at most. */
const QUANTUM_US = 500;
/** A change costs this at least, so that rounds end where the changes cost nothing. */
const LEAST_COST_US = 10;

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
  owner: string;
  share: number;
  entries: Fifo<Entry<Change>>;
  cost: number;
  /** What it may cost now: a quantum more in each round, and nothing once its queue is empty. */
  credit: number;
}

/**
 * States: idle, or a batch is under way. A change that comes to an idle queue goes at once, with what else is asked for in the
 * same breath; nothing waits for company that may not come. The busier it gets, the longer a batch takes and the more
 * gathers for the next, up to what others can be let wait for. Those of one owner keep their order. Owners take turns by
 * what their changes cost (deficit round robin): who brings a thousand, or expensive ones, holds up nobody who brings one. An
 * owner with a share has that much of each batch whatever the others bring, and what it leaves is theirs.
 */
export function createWriteQueue<Change>(options: WriteQueueOptions<Change>): WriteQueue<Change> {
  const { commit, watch, ownerOf = () => '', costOf = () => 0, shareOf = () => 0, clock } = options;
  const { maxBatch = 1_000, maxQueued = 20_000 } = options;
  const queues = new Map<string, OwnQueue<Change>>();
  /** Owners with a share, and those that take turns: each that has something waiting. */
  const reserved = new Set<OwnQueue<Change>>();
  const turns = new Set<OwnQueue<Change>>();
  let waiting = 0;
  /** What waits in all, and of owners with a share. */
  let waitingCost = 0;
  let reservedCost = 0;
  let underWay: Entry<Change>[] = [];
  let watched: ReturnType<NonNullable<typeof watch>> | undefined;
  let sentAt = 0;
  /** What a batch takes, as a multiple of what it costs. */
  let pace = 1;
  let refusal: DomainError | null = null;
  let onIdle: (() => void) | null = null;

  function send(): void {
    underWay = takeBatch();
    sentAt = clock?.monotonic() ?? 0;
    if (underWay.length === 0) {
      onIdle?.();
      return;
    }
    const batch = underWay.map(({ change }) => change);
    watched = watch?.(batch);
    commit(batch).then(settle, end);
  }

  function add(entry: Entry<Change>): void {
    waiting++;
    waitingCost += entry.cost;
    const owner = ownerOf(entry.change);
    let queue = queues.get(owner);
    if (queue === undefined) {
      queue = { owner, share: shareOf(owner), entries: createFifo(), cost: 0, credit: 0 };
      queues.set(owner, queue);
      if (queue.share > 0) reserved.add(queue);
      else turns.add(queue);
    }
    queue.entries.push(entry);
    queue.cost += entry.cost;
    if (queue.share > 0) reservedCost += entry.cost;
  }

  /** Takes an owner's changes, those that cost no more than `allowed` in all; what is left of that. */
  function take(queue: OwnQueue<Change>, allowed: number, batch: Entry<Change>[]): number {
    let left = allowed;
    for (let entry = queue.entries.peek(); entry !== undefined; entry = queue.entries.peek()) {
      if (entry.cost > left || batch.length >= maxBatch) return left;
      queue.entries.shift();
      batch.push(entry);
      left -= entry.cost;
      waiting--;
      waitingCost -= entry.cost;
      queue.cost -= entry.cost;
      if (queue.share > 0) reservedCost -= entry.cost;
    }
    queues.delete(queue.owner);
    reserved.delete(queue);
    turns.delete(queue);
    return left;
  }

  function takeBatch(): Entry<Change>[] {
    const batch: Entry<Change>[] = [];
    let left = MOST_COST_US;
    let unreserved = MOST_COST_US;
    for (const queue of reserved) {
      unreserved -= MOST_COST_US * queue.share;
      // At least one change, which may cost more than the share.
      const share = Math.max(MOST_COST_US * queue.share, queue.entries.peek()?.cost ?? 0);
      left -= share - take(queue, share, batch);
    }
    // A claim for 512 endpoints costs a whole batch, and another may follow it: what is nobody's share is kept for the turns.
    const turnsBudget = Math.max(left, unreserved);
    left -= turnsBudget - takeTurns(turnsBudget, batch);
    for (const queue of reserved) left = take(queue, left, batch);
    return batch;
  }

  /** Rounds among the owners without a share, until the batch is full or nothing of theirs waits. */
  function takeTurns(budget: number, batch: Entry<Change>[]): number {
    const first = batch.length;
    let left = budget;
    let inVain = 0;
    // Who is added again is met again, behind all others.
    for (const queue of turns) {
      if (left <= 0 || batch.length >= maxBatch) break;
      const before = batch.length;
      const credit = queue.credit + QUANTUM_US;
      const cost = queue.entries.peek()?.cost ?? 0;
      // A post to thousands of endpoints: others need not wait for it in their own commit, too. It begins the next one.
      if (cost > MOST_COST_US && cost <= credit && before > first) break;
      queue.credit = take(queue, credit, batch);
      left -= credit - queue.credit;
      if (turns.delete(queue)) turns.add(queue);
      inVain = batch.length > before ? 0 : inVain + 1;
      if (inVain === turns.size) skipRounds();
    }
    return left;
  }

  /** Skips the rounds in which no owner could afford a change yet: a piece of a batch costs as much as fifty changes. */
  function skipRounds(): void {
    let rounds = Number.POSITIVE_INFINITY;
    for (const { entries, credit } of turns) {
      rounds = Math.min(rounds, Math.ceil(((entries.peek()?.cost ?? 0) - credit) / QUANTUM_US) - 1);
    }
    for (const queue of turns) queue.credit += rounds * QUANTUM_US;
  }

  function learn(): void {
    const costUs = underWay.reduce((sum, { cost }) => sum + cost, 0);
    if (clock === undefined) return;
    const took = ((clock.monotonic() - sentAt) * 1_000) / costUs;
    if (costUs >= TELLING_COST_US || took < pace) pace += (Math.min(SLOWEST_PACE, took) - pace) * PACE_SHARE;
  }

  function settle(committed: Committed): void {
    const { values, failed } = committed;
    learn();
    watched?.(committed);
    for (const { index, error } of failed) underWay[index]?.reject(error);
    // Those that failed are settled: resolving them as well does nothing.
    for (const [index, entry] of underWay.entries()) entry.resolve(values[index]);
    send();
  }

  function end(cause: unknown): void {
    refusal = unavailable('The storage stopped unexpectedly.');
    refusal.cause = cause;
    watched?.(null);
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
      const own = queues.get(owner)?.cost ?? 0;
      const share = shareOf(owner);
      if (share > 0) return (Math.min(waitingCost, own / share) / 1_000) * pace;
      // In each round all have their turn: nobody waits longer than for all, nor for more rounds than they have changes.
      const before = Math.min(waitingCost - reservedCost, own * Math.max(1, turns.size));
      let shares = 0;
      for (const queue of reserved) shares += queue.share;
      const first = Math.min(reservedCost, (before * shares) / (1 - shares));
      return ((before + first) / 1_000) * pace;
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
        add({ change, cost: Math.max(LEAST_COST_US, costOf(change)), resolve, reject });
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
