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
  maxBatch?: number;
  maxQueued?: number;
}

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
  /** False once later changes are refused for good. */
  readonly accepting: boolean;
  /** Refuses later changes; resolves when those before are committed. */
  close(): Promise<void>;
}

interface Entry<Change> {
  change: Change;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * States: idle, or a batch is under way. A change that comes to an idle queue goes at once, with what else is asked for in the
 * same breath; nothing waits for company that may not come. The busier it gets, the longer a batch takes and the more
 * gathers for the next.
 */
export function createWriteQueue<Change>(options: WriteQueueOptions<Change>): WriteQueue<Change> {
  const { commit, maxBatch = 200, maxQueued = 20_000 } = options;
  let waiting: Entry<Change>[] = [];
  let underWay: Entry<Change>[] = [];
  let refusal: DomainError | null = null;
  let onIdle: (() => void) | null = null;

  function send(): void {
    underWay = waiting.length <= maxBatch ? waiting : waiting.slice(0, maxBatch);
    waiting = waiting.length <= maxBatch ? [] : waiting.slice(maxBatch);
    if (underWay.length === 0) onIdle?.();
    else commit(underWay.map(({ change }) => change)).then(settle, end);
  }

  function settle({ values, failed }: Committed): void {
    for (const { index, error } of failed) underWay[index]?.reject(error);
    // Those that failed are settled: resolving them as well does nothing.
    for (const [index, entry] of underWay.entries()) entry.resolve(values[index]);
    send();
  }

  function end(cause: unknown): void {
    refusal = unavailable('The storage stopped unexpectedly.');
    refusal.cause = cause;
    for (const entry of [...underWay, ...waiting]) entry.reject(refusal);
    underWay = waiting = [];
    onIdle?.();
  }

  return {
    get length() {
      return waiting.length + underWay.length;
    },
    limit: maxQueued,
    get accepting() {
      return refusal === null;
    },
    run(change) {
      if (refusal !== null) return Promise.reject(refusal);
      if (waiting.length + underWay.length >= maxQueued) {
        return Promise.reject(unavailable('Too many changes wait to be stored.'));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ change, resolve, reject });
        if (underWay.length === 0 && waiting.length === 1) queueMicrotask(send);
      });
    },
    async close() {
      refusal ??= unavailable('The storage is being closed.');
      if (waiting.length + underWay.length > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
  };
}

/** The error of what could not be stored, and may be tried again; `storage` where it was the storage that failed. */
export function unavailable(detail: string, storage?: 'full' | 'outage'): DomainError {
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1, ...(storage && { storage }) });
}
