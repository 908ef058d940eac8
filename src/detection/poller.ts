import type { Timer } from '../lib/clock.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { ClaimedSource } from '../store/source-store.ts';
import { type RunParts, runClaimed } from './run.ts';

/** Sources that are read at once; a host is asked by one of them at a time. */
const MAX_RUNS = 8;
/** Longer than a run takes, its waits for others on the same host included. */
const LEASE_MS = 15 * 60_000;
/** How often to look for what another process made due. */
const SAFETY_NET_MS = 30_000;

/** Reads every source when it is due. */
export interface Poller {
  start(): Promise<void>;
  /** One may be due sooner than planned. */
  wake(): void;
  /** Claims no more, cuts off what is under way, and resolves when it has ended. */
  stop(): Promise<void>;
}

/** One timer for all sources: it rings when the next is due. */
export function createPoller(parts: RunParts): Poller {
  const { store, clock, log } = parts;
  const running = new Set<Promise<void>>();
  let state: 'new' | 'running' | 'stopped' = 'new';
  let timer: Timer | null = null;
  let looking: Promise<void> | null = null;
  let lookAgain = false;

  /** Never twice at once: whoever comes meanwhile is served by one more look. */
  function wake(): void {
    if (state !== 'running') return;
    lookAgain = true;
    looking ??= lookUntilQuiet().finally(() => {
      looking = null;
    });
  }

  async function lookUntilQuiet(): Promise<void> {
    while (lookAgain && state === 'running') {
      lookAgain = false;
      timer?.cancel();
      try {
        await claimDue();
        arm(await waitMs());
      } catch (error) {
        log[levelOf(error)]({ err: error }, 'sources that are due could not be claimed; trying again');
        arm(SAFETY_NET_MS);
      }
    }
  }

  async function claimDue(): Promise<void> {
    const limit = MAX_RUNS - running.size;
    if (limit <= 0) return; // whichever ends first looks again
    const now = clock.now();
    // Most looks find nothing, and a claim is a write.
    if (((await store.nextSourceDue()) ?? Number.POSITIVE_INFINITY) > now) return;
    const token = parts.newId('run');
    for (const claimed of await store.claimSources({ now, leaseUntil: now + LEASE_MS, limit, token })) {
      begin(claimed);
    }
  }

  function begin(claimed: ClaimedSource): void {
    const run = runClaimed(parts, claimed).catch((error: unknown) => {
      log[levelOf(error)](
        { err: error, source_id: claimed.source.id },
        'a run could not be stored; it is made again',
      );
    });
    running.add(run);
    void run.finally(() => {
      running.delete(run);
      wake();
    });
  }

  async function waitMs(): Promise<number> {
    if (running.size >= MAX_RUNS) return SAFETY_NET_MS;
    const next = await store.nextSourceDue();
    return next === null ? SAFETY_NET_MS : Math.min(SAFETY_NET_MS, Math.max(0, next - clock.now()));
  }

  function arm(ms: number): void {
    if (state !== 'running') return;
    timer?.cancel();
    timer = clock.after(ms, wake);
  }

  return {
    async start() {
      await store.recoverSources();
      state = 'running';
      wake();
    },
    wake,
    async stop() {
      state = 'stopped';
      timer?.cancel();
      parts.web.abort();
      await looking;
      await Promise.all(running);
    },
  };
}

/** That the storage fails is said once, where it is noticed. */
function levelOf(error: unknown): 'error' | 'warn' {
  return storageFaultOf(error) === null ? 'error' : 'warn';
}
