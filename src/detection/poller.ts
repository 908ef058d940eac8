import { type Timer, watchSteps } from '../lib/clock.ts';
import { smallestOf } from '../lib/lists.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { ClaimedSource, DueSource } from '../store/source-store.ts';
import { type RunDeps, runClaimed } from './run.ts';
import { createUsage, type Usage } from './usage.ts';

/** Maximum number of concurrent runs, each on a different host until one has taken {@link KEPT_MS}. */
const MAX_RUNS = 32;
/** Maximum per tenant: twenty unresponsive sources leave room for other tenants. */
const MAX_RUNS_A_TENANT = 8;
/** Slots for the first run of a tenant. */
const FIRST_RUNS = 8;
/** Longer than a run takes (`RUN_LIMIT_MS`), including matching and storing its items. */
const LEASE_MS = 15 * 60_000;
/**
 * Time after which a run gives its slot to a tenant that has used slots less, if none is free: hosts that respond slowly
 * can keep a run for five minutes, and forty tenants with one such source each kept all slots.
 */
const KEPT_MS = 10_000;
/**
 * Then another tenant's run may also begin on its host, up to this number: a slow path of a host that many share, such as an
 * instance of a forum, kept the sources of others waiting until the run ended. Its requests are still sent one at a time.
 */
const MAX_RUNS_A_HOST = 3;
/** What a tenant used counts half as much after this time. */
const USAGE_HALF_LIFE_MS = 5 * 60_000;
/** What a run counts in addition to its time, so that tenants with short runs take turns. */
const RUN_COST_MS = 100;
/** A search for due sources is followed by a pause of many times its length: for twenty thousand, it takes 0.1 s. */
const REST_FACTOR = 10;
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
  const running = new Map<Promise<void>, RunInProgress>();
  /** How long the runs of each tenant had slots recently. */
  const usage = createUsage(clock, USAGE_HALF_LIFE_MS);
  const stopping = new AbortController();
  let state: 'new' | 'running' | 'stopped' = 'new';
  let timer: Timer | null = null;
  let looking: Promise<void> | null = null;
  let lookAgain = false;
  /** Whether due sources wait for a run on their host. */
  let someWait = false;
  /** When due sources were last compared with the runs in progress. In monotonic time, like the following. */
  let comparedAt = Number.NEGATIVE_INFINITY;
  let restsUntil = Number.NEGATIVE_INFINITY;

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
      const restMs = restsUntil - clock.monotonic();
      if (restMs > 0) return arm(restMs);
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
    const free = MAX_RUNS - running.size;
    if (free + endingRuns() + longRuns().length <= 0) return; // the next run to end looks again
    const now = clock.now();
    await store.recoverSources({ own: false, now });
    await replan(now);
    const began = clock.monotonic();
    const due = await store.dueSources(now);
    restsUntil = clock.monotonic() + REST_FACTOR * (clock.monotonic() - began);
    comparedAt = clock.monotonic();
    const chosen = chooseRuns(due, stateOf(free + endingRuns() + longRuns().length));
    someWait = due.length > chosen.length;
    for (const source of chosen.slice(0, free)) await claim(source, now);
    giveWay(chosen.slice(free));
  }

  /** One by one: the state of a job board takes megabytes, and 32 of them at once held up every other change for seconds. */
  async function claim(source: DueSource, now: number): Promise<void> {
    const lease = { now, leaseUntil: now + LEASE_MS, ids: [source.id], token: deps.newId('run') };
    const [claimed] = await store.claimSources(lease);
    if (claimed !== undefined) begin(claimed, source);
  }

  /** Runs that have had their slot for so long that they may lose it, except those that have already lost it. */
  function longRuns(): RunInProgress[] {
    const before = clock.monotonic() - KEPT_MS;
    return [...running.values()].filter(({ since, end }) => since <= before && !end.signal.aborted);
  }

  function endingRuns(): number {
    return [...running.values()].filter(({ end }) => end.signal.aborted).length;
  }

  /**
   * Ends a long run for each waiting source whose tenant has used less, beyond the runs that are ending: the one of the
   * tenant that has used most.
   */
  function giveWay(waiting: readonly DueSource[]): void {
    const used = usedNow();
    const runs = longRuns().sort(
      (a, b) => used.get(b.source.tenantId) - used.get(a.source.tenantId) || a.since - b.since,
    );
    for (const [i, { tenantId }] of waiting.slice(endingRuns()).entries()) {
      const run = runs[i];
      if (run === undefined || used.get(run.source.tenantId) <= used.get(tenantId)) return;
      run.end.abort();
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

  /** With the time of the runs in progress. */
  function usedNow(): Pick<Usage, 'get'> {
    const now = clock.monotonic();
    const current = new Map<string, number>();
    for (const { source, since } of running.values())
      current.set(source.tenantId, (current.get(source.tenantId) ?? 0) + now - since);
    return { get: (tenantId) => usage.get(tenantId) + (current.get(tenantId) ?? 0) };
  }

  function stateOf(places: number): RunState {
    const runs = [...running.values()];
    const byTenant = new Map<string, number>();
    for (const { source } of runs) byTenant.set(source.tenantId, (byTenant.get(source.tenantId) ?? 0) + 1);
    const byHost = Map.groupBy(runs, ({ source }) => source.host);
    const before = clock.monotonic() - KEPT_MS;
    return {
      isBusy({ host, tenantId }) {
        const onHost = byHost.get(host) ?? [];
        return (
          onHost.length >= MAX_RUNS_A_HOST ||
          onHost.some(({ source, since }) => source.tenantId === tenantId || since > before)
        );
      },
      ...{ running: byTenant, used: usedNow(), places, share: MAX_RUNS_A_TENANT },
    };
  }

  function begin(claimed: ClaimedSource, source: DueSource): void {
    const { tenantId } = source;
    usage.add(tenantId, RUN_COST_MS);
    const started: RunInProgress = { source, since: clock.monotonic(), end: new AbortController() };
    const ends = { giveWay: started.end.signal, stopping: stopping.signal };
    const run = runClaimed(deps, claimed, ends).catch((error: unknown) => {
      log[levelOf(error)](
        { err: error, source_id: claimed.source.id },
        'a run could not be stored; it will be repeated',
      );
    });
    running.set(run, started);
    void run.finally(() => {
      running.delete(run);
      usage.add(tenantId, clock.monotonic() - started.since);
      wake();
    });
  }

  async function waitMs(): Promise<number> {
    if (running.size >= MAX_RUNS) return untilLongMs();
    // A source that is already due waits for a run to end, which looks again, or to take long.
    const now = clock.now();
    const next = await store.nextSourceDue(now);
    const mostMs = someWait ? untilLongMs() : SAFETY_NET_MS;
    return next === null ? mostMs : Math.min(mostMs, Math.max(0, next - now));
  }

  /** Until the next run may lose its slot, or share its host. */
  function untilLongMs(): number {
    const now = clock.monotonic();
    const ends = [...running.values()].map(({ since }) => since + KEPT_MS).filter((end) => end > comparedAt);
    return smallestOf(
      ends.map((end) => Math.max(0, end - now)),
      SAFETY_NET_MS,
    );
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
      stopping.abort();
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

interface RunInProgress {
  source: DueSource;
  /** In monotonic time. */
  since: number;
  /** Aborted when the run loses its slot. */
  end: AbortController;
}

/** Runs in progress, and what each tenant has used. */
export interface RunState {
  /** Whether a source has to wait for the runs on its host. */
  isBusy(source: DueSource): boolean;
  /** Number of runs per tenant. */
  running: ReadonlyMap<string, number>;
  /** How long the runs of each tenant had slots recently. */
  used: { get(tenantId: string): number | undefined };
  places: number;
  /** Maximum number of slots per tenant. */
  share: number;
}

/**
 * Selects the due sources to read now: one per host, for the tenant with the fewest runs, then for the one
 * that has used slots least, then the source that has been due longest. Waiting for a host takes no slot.
 */
export function chooseRuns(due: readonly DueSource[], state: RunState): DueSource[] {
  const hosts = new Set<string>();
  const chosen: DueSource[] = [];
  // Sorted once: looking for the next tenant among a thousand, a thousand times, took 0.1 s.
  const line = [...Map.groupBy(due, ({ tenantId }) => tenantId)]
    .map(([tenantId, queue], position) => ({
      ...{ queue, position },
      runs: state.running.get(tenantId) ?? 0,
      used: state.used.get(tenantId) ?? 0,
    }))
    .sort(inOrder);

  for (let at = 0; at < line.length && chosen.length < state.places; at++) {
    const tenant = line[at] as WaitingTenant;
    const { queue, runs } = tenant;
    const free = state.places - chosen.length;
    // A tenant takes no more further slots than it leaves free: many tenants with slow sources leave room, too.
    const mayTake = runs === 0 || runs < Math.min(state.share, free - FIRST_RUNS);
    const index = mayTake
      ? queue.findIndex((source) => !hosts.has(source.host) && !state.isBusy(source))
      : -1;
    const [source] = index === -1 ? [] : queue.splice(index, 1);
    if (source === undefined) continue;
    hosts.add(source.host);
    chosen.push(source);
    tenant.runs++;
    const behind = line.findIndex((other, i) => i > at && inOrder(tenant, other) < 0);
    line.splice(behind === -1 ? line.length : behind, 0, tenant);
  }
  return chosen;
}

/** A tenant with due sources, and its number of runs. */
interface WaitingTenant {
  queue: DueSource[];
  position: number;
  runs: number;
  used: number;
}

function inOrder(a: WaitingTenant, b: WaitingTenant): number {
  return a.runs - b.runs || a.used - b.used || a.position - b.position;
}
