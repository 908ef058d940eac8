import { LRUCache } from 'lru-cache';
import { type Timer, watchSteps } from '../lib/clock.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { ClaimedSource, DueSource } from '../store/source-store.ts';
import { type RunDeps, runClaimed } from './run.ts';

/** Maximum number of concurrent runs, each on a different host. */
const MAX_RUNS = 32;
/** Maximum per tenant: twenty unresponsive sources leave room for other tenants. */
const MAX_RUNS_A_TENANT = 8;
/** Slots for the first run of a tenant. */
const FIRST_RUNS = 8;
/** Longer than a run takes (`RUN_LIMIT_MS`), including matching and storing its items. */
const LEASE_MS = 15 * 60_000;
/** Maximum number of tenants whose last turn is remembered. */
const MAX_TENANTS_KNOWN = 10_000;
/** Interval of checks for sources made due by another process. */
const SAFETY_NET_MS = 30_000;

/** Runs every source when it is due. */
export interface Poller {
  start(): Promise<void>;
  /** Reports that a source may be due earlier than scheduled. */
  wake(): void;
  /** Stops claiming, cancels runs in progress, and resolves when they have ended. */
  stop(): Promise<void>;
}

/** Creates a poller with one timer for all sources, set to the next due time. */
export function createPoller(deps: RunDeps): Poller {
  const { store, log } = deps;
  const clock = watchSteps(deps.clock, (deltaMs) => {
    replanned &&= deltaMs > 0;
  });
  /** False at startup: the clock may have been set while the process was not running. */
  let replanned = false;
  const running = new Map<Promise<void>, DueSource>();
  const lastTurn = new LRUCache<string, number>({ max: MAX_TENANTS_KNOWN });
  let turn = 0;
  let state: 'new' | 'running' | 'stopped' = 'new';
  let timer: Timer | null = null;
  let looking: Promise<void> | null = null;
  let lookAgain = false;

  /** Looks for due sources, never concurrently: calls during a look are merged into one more. */
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
    const places = MAX_RUNS - running.size;
    if (places <= 0) return; // the next run to end looks again
    const now = clock.now();
    await store.recoverSources({ own: false, now });
    await replan(now);
    const due = await store.dueSources(now);
    const chosen = new Map(chooseRuns(due, turnsNow(places)).map((source) => [source.id, source]));
    if (chosen.size === 0) return; // most looks find nothing, and a claim is a write
    const token = deps.newId('run');
    // One by one: the state of a job board takes megabytes, and 32 of them at once held up every other change for seconds.
    for (const [id, source] of chosen) {
      const [claimed] = await store.claimSources({ now, leaseUntil: now + LEASE_MS, ids: [id], token });
      if (claimed !== undefined) begin(claimed, source);
    }
  }

  /**
   * Reschedules sources that a clock running ahead had scheduled: they would wait until this clock catches
   * up.
   */
  async function replan(now: number): Promise<void> {
    if (replanned) return;
    const sources = await store.replanSources(now);
    replanned = true;
    if (sources > 0)
      log.warn({ sources }, 'the clock was set back; sources scheduled by the later time are read now');
  }

  function turnsNow(places: number) {
    const runs = [...running.values()];
    const byTenant = new Map<string, number>();
    for (const { tenantId } of runs) byTenant.set(tenantId, (byTenant.get(tenantId) ?? 0) + 1);
    const busy = new Set(runs.map(({ host }) => host));
    return { busy, running: byTenant, lastTurn, places, share: MAX_RUNS_A_TENANT };
  }

  function begin(claimed: ClaimedSource, source: DueSource): void {
    lastTurn.set(source.tenantId, ++turn);
    const run = runClaimed(deps, claimed).catch((error: unknown) => {
      log[levelOf(error)](
        { err: error, source_id: claimed.source.id },
        'a run could not be stored; it will be repeated',
      );
    });
    running.set(run, source);
    void run.finally(() => {
      running.delete(run);
      wake();
    });
  }

  async function waitMs(): Promise<number> {
    if (running.size >= MAX_RUNS) return SAFETY_NET_MS;
    // A source that is already due waits for a run to end, which looks again.
    const now = clock.now();
    const next = await store.nextSourceDue(now);
    return next === null ? SAFETY_NET_MS : Math.min(SAFETY_NET_MS, Math.max(0, next - now));
  }

  function arm(ms: number): void {
    if (state !== 'running') return;
    timer?.cancel();
    timer = clock.after(ms, wake);
  }

  return {
    async start() {
      await store.recoverSources({ own: true, now: clock.now() });
      deps.web.recall(await store.hostHolds(clock.now()));
      if (state === 'stopped') return;
      state = 'running';
      wake();
    },
    wake,
    async stop() {
      state = 'stopped';
      timer?.cancel();
      deps.web.abort();
      await looking;
      await Promise.all(running.keys());
    },
  };
}

/** Storage failures are logged as errors once, where they are detected. */
function levelOf(error: unknown): 'error' | 'warn' {
  return storageFaultOf(error) === null ? 'error' : 'warn';
}

/** Runs in progress, and each tenant's last turn. */
export interface RunState {
  /** Hosts with a request in progress. */
  busy: ReadonlySet<string>;
  /** Number of runs per tenant. */
  running: ReadonlyMap<string, number>;
  /** The sequence number of each tenant's last turn; larger is later. */
  lastTurn: Pick<ReadonlyMap<string, number>, 'get'>;
  places: number;
  /** Maximum number of slots per tenant. */
  share: number;
}

/**
 * Selects the due sources to read now: one per host, for the tenant with the fewest runs, then for the one
 * whose last turn is oldest, then the source that has been due longest. Waiting for a host takes no slot.
 */
export function chooseRuns(due: readonly DueSource[], state: RunState): DueSource[] {
  const busy = new Set(state.busy);
  const running = new Map(state.running);
  const waiting = Map.groupBy(due, ({ tenantId }) => tenantId);
  const chosen: DueSource[] = [];
  const runsOf = (tenantId: string) => running.get(tenantId) ?? 0;
  const order = (a: string, b: string) =>
    runsOf(a) - runsOf(b) || (state.lastTurn.get(a) ?? 0) - (state.lastTurn.get(b) ?? 0);

  while (chosen.length < state.places && waiting.size > 0) {
    const tenantId = [...waiting.keys()].reduce((best, next) => (order(next, best) < 0 ? next : best));
    const queue = waiting.get(tenantId) ?? [];
    const free = state.places - chosen.length;
    const own = runsOf(tenantId);
    // A tenant takes no more further slots than it leaves free: many tenants with slow sources leave room, too.
    const mayTake = own === 0 || own < Math.min(state.share, free - FIRST_RUNS);
    const index = mayTake ? queue.findIndex(({ host }) => !busy.has(host)) : -1;
    const source = queue[index];
    if (source === undefined) {
      waiting.delete(tenantId);
      continue;
    }
    queue.splice(index, 1);
    busy.add(source.host);
    running.set(tenantId, runsOf(tenantId) + 1);
    chosen.push(source);
  }
  return chosen;
}
