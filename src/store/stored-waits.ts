import type { Clock, Timer } from '../lib/clock.ts';
import { createYielder } from '../lib/yielding.ts';
import type { EventStore, StoredWait } from './event-store.ts';

/** Minimum time between two checks caused by commits of this process: a busy server commits hundreds of times a second. */
const LOOK_EVERY_MS = 25;
/** Commits of other processes are found by checking. */
const LOOK_FOR_OTHERS_MS = 1_000;

/** Calls that wait for the same: the position each has read up to, and how to wake it. */
interface WaitGroup {
  tenantId: string;
  kind: StoredWait['kind'];
  wakes: Map<() => void, number>;
}

/** Calls that wait for rows after a position in commit order. */
interface StoredWaits extends Pick<EventStore, 'untilStored'> {
  /** Something was committed for these tenants; '' stands for any. They are only computed if a call waits. */
  committed(tenantIds: () => Iterable<string>): void;
  /** Wakes all waiting calls, and lets none wait from now on. */
  close(): void;
}

/** Waits that cost almost nothing: a commit wakes them, or a check once a second for commits of other processes. */
export function createStoredWaits(
  clock: Clock,
  newest: (tenantId: string, kind: StoredWait['kind']) => number | Promise<number>,
): StoredWaits {
  const all = new Map<string, WaitGroup>();
  const changed = new Set<string>();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isLookPlanned = false;
  let lookForOthers: Timer | null = null;
  let closed = false;

  async function wakeThose(group: WaitGroup): Promise<void> {
    const position = await newestOrAll(group);
    for (const [wake, after] of [...group.wakes]) if (position > after) wake();
  }

  /** If it cannot be read, all are woken: they read again and return the error to their callers. */
  async function newestOrAll({ tenantId, kind }: WaitGroup): Promise<number> {
    try {
      return await newest(tenantId, kind);
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }

  /** In turns of the event loop: 4,000 calls, each of another tenant, took 0.1 s. */
  async function lookAround(): Promise<void> {
    isLookPlanned = false;
    lookedAt = clock.monotonic();
    const tenants = new Set(changed);
    changed.clear();
    const nextTurn = createYielder(clock);
    for (const group of [...all.values()]) {
      if (!tenants.has('') && !tenants.has(group.tenantId)) continue;
      void wakeThose(group);
      await nextTurn();
    }
  }

  function planLookForOthers(): void {
    lookForOthers ??= clock.after(LOOK_FOR_OTHERS_MS, () => {
      lookForOthers = null;
      changed.add('');
      void lookAround();
      if (all.size > 0) planLookForOthers();
    });
  }

  function leave(key: string, group: WaitGroup, wake: () => void): void {
    group.wakes.delete(wake);
    if (group.wakes.size > 0) return;
    all.delete(key);
    if (all.size > 0) return;
    lookForOthers?.cancel();
    lookForOthers = null;
  }

  return {
    async untilStored(tenantId, { kind, after: [after] }, signal) {
      if (closed || signal.aborted) return;
      const key = `${kind} ${tenantId}`;
      const group = all.get(key) ?? { tenantId, kind, wakes: new Map() };
      all.set(key, group);
      planLookForOthers();
      await new Promise<void>((resolve) => {
        const wake = () => {
          leave(key, group, wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        group.wakes.set(wake, Number(after));
        signal.addEventListener('abort', wake, { once: true });
        // Checked after it waits, so that commits in between wake it.
        void wakeThose(group);
      });
    },
    committed(tenantIds) {
      if (all.size === 0) return;
      for (const id of tenantIds()) changed.add(id);
      if (isLookPlanned) return;
      isLookPlanned = true;
      const restMs = lookedAt + LOOK_EVERY_MS - clock.monotonic();
      if (restMs > 0) clock.after(restMs, () => void lookAround());
      else setImmediate(() => void lookAround());
    },
    close() {
      closed = true;
      for (const { wakes } of [...all.values()]) for (const wake of [...wakes.keys()]) wake();
    },
  };
}
