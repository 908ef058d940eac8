import type { Clock } from '../lib/clock.ts';
import { createFifo, type Fifo } from '../lib/queues.ts';
import { createReleases } from '../lib/yielding.ts';
import { DomainError, type StorageFaultKind } from '../model/errors.ts';

/** The result of a batch: the result of each change, in order, and the failed ones. */
export interface Committed {
  /** Undefined for failed changes. */
  values: unknown[];
  failed: { index: number; error: unknown }[];
}

export interface WriteQueueOptions<Change> {
  /** Stores a batch, one at a time; resolves after COMMIT. Rejects only where nothing can be stored ever again. */
  commit(batch: Change[]): Promise<Committed>;
  /** Called when a batch is sent; the returned function is called before its changes are answered, with null if it was lost. */
  watch?(batch: readonly Change[]): (committed: Committed | null) => void;
  /** The owner of a change: owners take turns by cost. Omitted: all changes have one owner. */
  ownerOf?(change: Change): string;
  /** The share of each batch that an owner has before the others take turns; 0: it takes turns. Omitted: no owner has one. */
  shareOf?(owner: string): number;
  /** Estimated writer time in microseconds. Omitted: none. */
  costOf?(change: Change): number;
  /** Measures the actual duration of a batch against its cost. Omitted: they are taken as equal. */
  clock?: Clock;
  maxBatch?: number;
  maxQueued?: number;
}

/**
 * A batch is full at this cost: the next change waits for the whole batch, and then for its own. Where other threads use the
 * processor as well, both take two or three times as long.
 */
const MOST_COST_US = 15_000;

/** Smaller batches are dominated by the disk flush, so they only show that the writer is faster than estimated. */
const TELLING_COST_US = 5_000;
/** The weight of a batch in the mean, and its maximum deviation from it: a single stall of the disk says little. */
const PACE_SHARE = 0.2;
const SLOWEST_PACE = 20;

/** The cost an owner may use per round: about one post, so that each of a thousand owners waits for a thousand posts at most. */
const QUANTUM_US = 500;
/** Minimum cost of a change, so that rounds end even if changes cost nothing. */
const LEAST_COST_US = 10;

/** Group commit: changes that arrive while a batch is in progress share the next one, and its disk flush. */
export interface WriteQueue<Change> {
  /**
   * Resolves after COMMIT with the result of the change.
   * @throws DomainError UNAVAILABLE if the storage failed or the queue is full: nothing is stored then.
   */
  run(change: Change): Promise<unknown>;
  /** The number of changes waiting for their commit, including those in progress. */
  readonly length: number;
  readonly limit: number;
  /** Estimated wait of a new change of this owner, in milliseconds: the cost of those before it, at the current pace. */
  waitMs(owner: string): number;
  /** False once all further changes are rejected. */
  readonly accepting: boolean;
  /** Rejects further changes; resolves when earlier ones are committed. */
  close(): Promise<void>;
}

interface QueuedChange<Change> {
  change: Change;
  cost: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The waiting changes of an owner, and their total cost. */
interface OwnQueue<Change> {
  owner: string;
  share: number;
  entries: Fifo<QueuedChange<Change>>;
  cost: number;
  /** Its credit: grows by a quantum per round, and drops to 0 when its queue is empty. */
  credit: number;
}

/**
 * States: idle, or a batch is in progress. A change that finds the queue idle is sent immediately, with others from the same
 * turn of the event loop; nothing waits for further changes. The busier the queue, the longer a batch takes and the more
 * changes the next one has, up to a limit. Changes of one owner keep their order. Owners take turns by the cost of their changes
 * (deficit round robin), so an owner with a thousand or expensive changes does not delay one with a single change. An owner
 * with a share gets that much of each batch before the others, who get what it leaves. A change that costs more than a batch is
 * followed by a batch without such changes, if others wait.
 */
export function createWriteQueue<Change>(options: WriteQueueOptions<Change>): WriteQueue<Change> {
  const { commit, watch, ownerOf = () => '', costOf = () => 0, shareOf = () => 0, clock } = options;
  const { maxBatch = 1_000, maxQueued = 20_000 } = options;
  const queues = new Map<string, OwnQueue<Change>>();
  /** Owners with waiting changes: those with a share, and those that take turns. */
  const reserved = new Set<OwnQueue<Change>>();
  const turns = new Set<OwnQueue<Change>>();
  let waiting = 0;
  /** Number and cost of all waiting changes, and the cost of those with a share. */
  let waitingCost = 0;
  let reservedCost = 0;
  let underWay: QueuedChange<Change>[] = [];
  let watched: ReturnType<NonNullable<typeof watch>> | undefined;
  let sentAt = 0;
  /** The duration of a batch divided by its cost. */
  let pace = 1;
  /** Whether the last batch had a change that costs more than a batch. */
  let wasLong = false;
  let refusal: DomainError | null = null;
  const release = createReleases();
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

  function add(entry: QueuedChange<Change>): void {
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

  /** Takes changes of an owner up to a total cost of `allowed`; returns what is left of it. */
  function take(queue: OwnQueue<Change>, allowed: number, batch: QueuedChange<Change>[]): number {
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

  function takeBatch(): QueuedChange<Change>[] {
    const batch: QueuedChange<Change>[] = [];
    let left = MOST_COST_US;
    let unreserved = MOST_COST_US;
    for (const queue of reserved) {
      unreserved -= MOST_COST_US * queue.share;
      // At least one change, even if it costs more than the share.
      const share = Math.max(MOST_COST_US * queue.share, queue.entries.peek()?.cost ?? 0);
      left -= share - take(queue, share, batch);
    }
    // A claim for 512 endpoints costs a whole batch, and another may follow: what belongs to no share is kept for the turns.
    const turnsBudget = Math.max(left, unreserved);
    left -= turnsBudget - takeTurns(turnsBudget, batch);
    for (const queue of reserved) left = take(queue, left, batch);
    return batch;
  }

  /** Rounds among the owners without a share, until the batch is full or none of their changes waits. */
  function takeTurns(budget: number, batch: QueuedChange<Change>[]): number {
    const first = batch.length;
    // Long changes of several owners would run one after the other before an owner's second round.
    const isShortOnly = wasLong && [...turns].some(isShort);
    let left = budget;
    let inVain = 0;
    // An owner that is added again comes up again, after all others.
    for (const queue of turns) {
      if (left <= 0 || batch.length >= maxBatch) break;
      const before = batch.length;
      if (!isShortOnly || isShort(queue)) {
        const credit = queue.credit + QUANTUM_US;
        const cost = queue.entries.peek()?.cost ?? 0;
        // A post to thousands of endpoints: others need not wait for it in their own commit, too. It begins the next one.
        if (cost > MOST_COST_US && cost <= credit && before > first) break;
        queue.credit = take(queue, credit, batch);
        left -= credit - queue.credit;
      }
      if (turns.delete(queue)) turns.add(queue);
      inVain = batch.length > before ? 0 : inVain + 1;
      if (inVain < turns.size) continue;
      if (isShortOnly && ![...turns].some(isShort)) break;
      skipRounds(isShortOnly ? [...turns].filter(isShort) : turns);
    }
    wasLong = (batch[first]?.cost ?? 0) > MOST_COST_US;
    return left;
  }

  /** Skips the rounds in which no owner could afford a change yet: a piece of a batch costs as much as fifty changes. */
  function skipRounds(among: Iterable<OwnQueue<Change>>): void {
    let rounds = Number.POSITIVE_INFINITY;
    for (const { entries, credit } of among) {
      rounds = Math.min(rounds, Math.ceil(((entries.peek()?.cost ?? 0) - credit) / QUANTUM_US) - 1);
    }
    for (const queue of among) queue.credit += rounds * QUANTUM_US;
  }

  function isShort({ entries }: OwnQueue<Change>): boolean {
    return (entries.peek()?.cost ?? 0) <= MOST_COST_US;
  }

  function learn(): void {
    if (clock === undefined) return;
    let costUs = 0;
    for (const { cost } of underWay) costUs += cost;
    const took = ((clock.monotonic() - sentAt) * 1_000) / costUs;
    if (costUs >= TELLING_COST_US || took < pace) pace += (Math.min(SLOWEST_PACE, took) - pace) * PACE_SHARE;
  }

  function settle(committed: Committed): void {
    const { values, failed } = committed;
    learn();
    watched?.(committed);
    const answered = underWay;
    const errors = new Map(failed.map(({ index, error }) => [index, error]));
    // The consequences of each take up to milliseconds: a thousand at once would be one long turn.
    for (let index = 0; index < answered.length; index++) {
      const entry = answered[index];
      release(() => (errors.has(index) ? entry?.reject(errors.get(index)) : entry?.resolve(values[index])));
    }
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
      // Every owner has a turn in each round: none waits for more than all others, nor for more rounds than it has changes.
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
        return Promise.reject(unavailable('Too many changes are waiting to be stored.'));
      }
      return new Promise((resolve, reject) => {
        add({ change, cost: Math.max(LEAST_COST_US, costOf(change)), resolve, reject });
        if (underWay.length === 0 && waiting === 1) queueMicrotask(send);
      });
    },
    async close() {
      refusal ??= unavailable('The storage is closing.');
      if (waiting + underWay.length > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
  };
}

/** Until a backup is restored. */
const RETRY_AFTER_DAMAGE_SECONDS = 300;

/** The error for a change that could not be stored and can be retried; `storage` if the storage failed. */
export function unavailable(detail: string, storage?: StorageFaultKind): DomainError {
  const retryAfterSeconds = storage === 'damaged' ? RETRY_AFTER_DAMAGE_SECONDS : 1;
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds, ...(storage && { storage }) });
}
