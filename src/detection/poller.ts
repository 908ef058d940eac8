import { LRUCache } from 'lru-cache';
import { type Timer, watchSteps } from '../lib/clock.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { ClaimedSource, DueSource } from '../store/source-store.ts';
import { type RunDeps, runClaimed } from './run.ts';

/** Sources that are read at once, each on a host of its own. */
const MAX_RUNS = 32;
/** Maximum of these per tenant: twenty unresponsive sources leave room for other tenants. */
const MAX_RUNS_A_TENANT = 8;
/** Longer than a run takes (`RUN_LIMIT_MS`), and then to match and store what it read. */
const LEASE_MS = 15 * 60_000;
/** Tenants whose last turn is remembered. */
const MAX_TENANTS_KNOWN = 10_000;
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
export function createPoller(deps: RunDeps): Poller {
  const { store, log } = deps;
  const clock = watchSteps(deps.clock, (deltaMs) => {
    replanned &&= deltaMs > 0;
  });
  /** False at a start, before which the clock may have been set as well. */
  let replanned = false;
  const running = new Map<Promise<void>, DueSource>();
  const lastTurn = new LRUCache<string, number>({ max: MAX_TENANTS_KNOWN });
  let turn = 0;
  let state: 'new' | 'running' | 'stopped' = 'new';
  let timer: Timer | null = null;
  let looking: Promise<void> | null = null;
  let lookAgain = false;

  /** Never runs twice at once: calls during a run are merged into one more. */
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
    if (places <= 0) return; // whichever ends first looks again
    const now = clock.now();
    await store.recoverSources({ own: false, now });
    await replan(now);
    const due = await store.dueSources(now);
    const chosen = new Map(chooseRuns(due, turnsNow(places)).map((source) => [source.id, source]));
    if (chosen.size === 0) return; // most looks find nothing, and a claim is a write
    const token = deps.newId('run');
    const claim = { now, leaseUntil: now + LEASE_MS, ids: [...chosen.keys()], token };
    for (const claimed of await store.claimSources(claim)) {
      const source = chosen.get(claimed.source.id);
      if (source !== undefined) begin(claimed, source);
    }
  }

  /** What was planned by a clock that ran ahead would else be read when this one has come so far. */
  async function replan(now: number): Promise<void> {
    if (replanned) return;
    const sources = await store.replanSources(now);
    replanned = true;
    if (sources > 0)
      log.warn({ sources }, 'the clock was set back; sources that were read by the later one are read now');
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
        'a run could not be stored; it is made again',
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
    // What is due already waits for a run to end, which looks again.
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

/** That the storage fails is said once, where it is noticed. */
function levelOf(error: unknown): 'error' | 'warn' {
  return storageFaultOf(error) === null ? 'error' : 'warn';
}

/** The runs under way, and when each tenant last had one. */
export interface RunState {
  /** Hosts that are being asked. */
  busy: ReadonlySet<string>;
  /** Runs of each tenant. */
  running: ReadonlyMap<string, number>;
  /** The number of each tenant's last turn; greater is later. */
  lastTurn: Pick<ReadonlyMap<string, number>, 'get'>;
  places: number;
  /** The most places that one tenant may have. */
  share: number;
}

/**
 * Which of `due` to read now: one per host, for the tenant with the fewest runs, then the one whose last turn is oldest,
 * then the source that is due longest. Waiting for a host takes no slot.
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
    const index = runsOf(tenantId) < state.share ? queue.findIndex(({ host }) => !busy.has(host)) : -1;
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
