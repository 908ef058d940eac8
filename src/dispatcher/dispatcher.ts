import { type Clock, type Timer, watchSteps } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { Tracer } from '../lib/tracing.ts';
import { createYielder } from '../lib/yielding.ts';
import type { NewWork } from '../model/event.ts';
import type { DueLane, RetryPlace } from '../store/delivery-store.ts';
import type { Store } from '../store/store.ts';
import { createConnect } from '../webhooks/connect.ts';
import type { Reserve } from '../webhooks/signal-commits.ts';
import { createLookup } from '../webhooks/target-lookup.ts';
import type { Lookup } from '../webhooks/targets.ts';
import { refuseTests, type SendTest } from '../webhooks/test-delivery.ts';
import { createAgenda, createWakeUp } from './agenda.ts';
import { createAlarms } from './alarms.ts';
import { createClaimer, createReserve, withTraces } from './claim.ts';
import { createClaimedBytes } from './claimed-bytes.ts';
import { createPools } from './pools.ts';
import { createDispatcherTally, createOutcomeRecorder, type DispatcherTally, type Log } from './recorder.ts';
import { createScheduler } from './scheduler.ts';
import type { Exchange } from './send.ts';
import { createSlots } from './slots.ts';
import { createPrepareTarget } from './target.ts';
import { WINDOW_MS } from './throttle.ts';
import { createProber, createSendTest } from './unqueued.ts';

/** Dependencies of the dispatcher. */
export interface DispatcherDeps {
  store: Store;
  clock: Clock;
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
  /** Addresses exempt from the public-HTTPS rule. */
  allowTargets: AddressSet;
  /** Local address of outgoing connections; null leaves it to the system. */
  localAddress: string | null;
  /** Structured log. It never contains bodies, secrets or URLs with a query. */
  log: Log;
  /** Null or omitted if nothing is traced. */
  tracer?: Tracer | null;
}

/** Metrics and state of the dispatcher. */
export interface DispatcherPulse {
  tally: DispatcherTally;
  /** Number of requests in flight. */
  inFlight: number;
  /** Number of outcomes waiting for their commit. */
  uncommitted: number;
  /** Number of endpoints whose work waits only for their rate limit. */
  throttled(): Promise<number>;
  /** Why due deliveries are not sent, in words for an operator; null if everything works. */
  stuck: string | null;
}

/** Sends stored deliveries to their receivers. */
export interface Dispatcher {
  /**
   * Recovers deliveries that a dead process had in flight, and starts delivering; returns the number of
   * endpoints with waiting work. May be called again after a failure.
   */
  start(): Promise<number>;
  /** Reports newly committed work for these endpoints. Cheap, synchronous, never throws. */
  nudge(lanes: readonly NewWork[]): void;
  /**
   * Reserves deliveries that can be sent immediately, while they are being stored: see {@link Reservation}.
   * Never throws.
   */
  reserve: Reserve;
  /** Reports a change of an endpoint: every later attempt uses the stored version. */
  endpointChanged(endpointId: string): void;
  /**
   * Sends a test immediately, within the rate limit. Works while the endpoint is paused, and does not affect
   * its failure count or pause.
   */
  sendTest: SendTest;
  /** For periodic monitoring: examines every endpoint with work. */
  pulse(): DispatcherPulse;
  /**
   * Stops claiming and waits up to `graceMs` for requests in flight, then cancels them (they are sent again
   * later).
   */
  stop(graceMs: number): Promise<void>;
}

/**
 * Interval of checks for work stored by another process, or held by one that died; also the interval of
 * housekeeping.
 */
const SAFETY_NET_MS = 15_000;
/** About 15 ms of the writer. */
const SHIFTED_AT_ONCE = 500;

const NOT_RUNNING = { new: 'deliveries have not started yet', stopped: 'the server is stopping' };

/** Replacements for the network in tests. */
export interface DispatcherNetwork {
  lookup?: Lookup;
  /** Certificate authorities in addition to the system's, in PEM. */
  ca?: string;
}

/** Wires the parts together; they know each other only through these dependencies. */
export function createDispatcher(deps: DispatcherDeps, network: DispatcherNetwork = {}): Dispatcher {
  const { log, newId, random, secretBox, allowTargets: allow, localAddress, tracer = null } = deps;
  const store = tracer === null ? deps.store : withTraces(deps.store);
  const clock = watchSteps(deps.clock, onClockStep);
  const { lookup = createLookup(deps.clock), ...tls } = network;
  const pools = createPools(clock, createConnect({ clock, allow, lookup, localAddress, ...tls }));
  const leaseToken = newId('lease');
  const prepare = createPrepareTarget({ secretBox, allow, log });
  const deadlines = createAlarms<Exchange>(clock, (due) => {
    for (const exchange of due) exchange.expire();
  });
  const wakeUp = createWakeUp();
  const slots = createSlots(clock, wakeUp.soon);
  const claimedBytes = createClaimedBytes();
  const agenda = createAgenda({ clock, slots, claimedBytes, wakeUp });
  const tally = createDispatcherTally();
  const recorder = createOutcomeRecorder({ store, clock, log, tally });
  // Start times of attempts are only reported, not used for scheduling, so they need no step detection.
  const flights = {
    clock: deps.clock,
    pools,
    deadlines,
    newId,
    random,
    agenda,
    slots,
    recorder,
    wakeUp,
    log,
    tracer,
  };
  const claimer = createClaimer({ store, clock, leaseToken, prepare, agenda, claimedBytes, wakeUp, log });
  const scheduler = createScheduler({ store, clock, wakeUp, agenda, slots, recorder, claimer, flights });
  const prober = createProber({ store, clock, agenda, prepare, flights, leaseToken, log });
  const reserve = createReserve({ clock, agenda, claimedBytes, wakeUp, leaseToken });
  const sendTest = createSendTest({ store, clock, agenda, prepare, flights });

  const standstill = createStandstill({
    clock,
    inLine: () =>
      [...Object.values(agenda.toClaim), ...Object.values(agenda.toSend)].reduce(
        (sum, { size }) => sum + size,
        0,
      ),
    done: () => sumOf(tally.seconds.counts),
  });

  let state: 'new' | 'running' | 'stopped' = 'new';
  let safetyNet: Timer | null = null;

  /** Runs before anything uses the new time, so that the store moves scheduled times first. */
  function onClockStep(deltaMs: number): void {
    log.warn({ delta_ms: deltaMs }, 'the clock was set; planned retries move with it');
    agenda.shift(deltaMs);
    shiftStored(deltaMs).catch((error: unknown) => {
      log.error({ err: error }, 'planned retries could not be moved with the clock');
    });
  }

  /** In parts: two hundred thousand retries in one commit would keep every other change waiting for five seconds. */
  async function shiftStored(deltaMs: number): Promise<void> {
    let after: RetryPlace | null = null;
    do {
      after = await store.shiftDue({ now: deps.clock.now(), deltaMs, after, limit: SHIFTED_AT_ONCE });
    } while (after !== null && state !== 'stopped');
  }

  async function lookAround(): Promise<void> {
    standstill.lookBegins();
    void prober.run();
    try {
      // Before the leases of a dead process end: until then, nobody sends in its place, and they show what
      // was in flight.
      if (await store.hasDeparted()) await seedThrottles();
      await takeUp(await store.recoverDeliveries({ own: false }));
      pools.sweep();
      standstill.lookEnds();
    } catch (error) {
      log.warn({ err: error }, 'waiting work could not be listed; trying again');
    }
    if (state === 'running') armSafetyNet();
  }

  async function takeUp(lanes: readonly DueLane[]): Promise<void> {
    const nextTurn = createYielder(clock);
    wakeUp.soon();
    for (const { endpointId, tenantId, nextDueAt } of lanes) {
      agenda.due(endpointId, tenantId, nextDueAt);
      await nextTurn();
    }
    wakeUp.soon();
  }

  function armSafetyNet(): void {
    safetyNet = clock.after(SAFETY_NET_MS, () => void lookAround());
  }

  /**
   * Restores the throttles after a restart or a takeover from the attempts of the last minute. A lane that
   * has sent requests itself owned the endpoint meanwhile.
   */
  async function seedThrottles(): Promise<void> {
    const now = clock.now();
    const offset = clock.monotonic() - now;
    const nextTurn = createYielder(clock);
    for (const [endpointId, starts] of await store.recentAttempts(now - WINDOW_MS, now)) {
      const lane = agenda.lane(endpointId, '');
      if (lane.throttle.emptyAt() <= now + offset) {
        for (const at of starts.sort((a, b) => a - b)) lane.throttle.record(Math.min(at, now) + offset);
        agenda.consider(lane);
      }
      await nextTurn();
    }
  }

  /** Resolves to true once nothing is in flight, or to false after `graceMs`. */
  function landed(graceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cutOff = clock.after(graceMs, () => resolve(false));
      void scheduler.drain().then(() => {
        cutOff.cancel();
        resolve(true);
      });
      if (graceMs <= 0) resolve(false);
    });
  }

  async function releaseLeases(): Promise<void> {
    try {
      // Otherwise, the process that takes over ends them, after it has counted the requests sent.
      if ((await store.countOthers()) === 0) await store.releaseLeases(leaseToken);
    } catch (error) {
      log.warn({ err: error }, 'leases could not be released; they expire with this process');
    }
  }

  return {
    async start() {
      await seedThrottles();
      const lanes = await store.recoverDeliveries({ own: true });
      if (state === 'stopped') return 0;
      state = 'running';
      armSafetyNet();
      await takeUp(lanes);
      return lanes.length;
    },
    nudge(lanes) {
      if (state !== 'running') return; // before the start, `start` itself finds the work
      const now = clock.now();
      for (const { endpointId, tenantId, rejected } of lanes) {
        if (rejected) tally.countRejected();
        else agenda.due(endpointId, tenantId, now);
      }
      wakeUp.soon();
    },
    reserve: (events) => (state === 'running' ? reserve(events) : null),
    endpointChanged: agenda.changed,
    pulse: () => ({
      tally,
      inFlight: slots.taken,
      uncommitted: recorder.waiting,
      throttled: agenda.throttled,
      stuck: state === 'running' ? standstill.reason() : NOT_RUNNING[state],
    }),
    sendTest: (request) => (state === 'running' ? sendTest(request) : refuseTests(request)),
    async stop(graceMs) {
      if (state === 'stopped') return;
      state = 'stopped';
      safetyNet?.cancel();
      prober.stop();
      const allLanded = await landed(graceMs);
      await pools.destroy();
      // Cancelled requests may have arrived: their leases stay, so that the next start counts them for the
      // rate limit.
      if (allLanded) await releaseLeases();
    },
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** Detects that the dispatcher does nothing although there is work. */
export interface Standstill {
  /** Called when a check for work starts, and when it ends. */
  lookBegins(): void;
  lookEnds(): void;
  /** Why nothing happens; null if all is well. */
  reason(): string | null;
}

export interface StandstillDeps {
  clock: Clock;
  /** Number of lanes queued for work that they could do immediately. */
  inLine(): number;
  /** A counter of completed work. */
  done(): number;
}

/** Longer than any wait for the store, and than any attempt. */
const PATIENCE_MS = 60_000;

/**
 * Checked with every check for work (15 s), so that attempts cost nothing extra. A lane is queued only for a
 * moment, unless all slots are taken; these are released within 30 s, which counts as progress.
 */
export function createStandstill({ clock, inLine, done }: StandstillDeps): Standstill {
  let lookSince: number | null = null;
  let idleSince: number | null = null;
  let doneThen = -1;

  return {
    lookBegins() {
      const now = clock.monotonic();
      lookSince ??= now;
      const doneNow = done();
      if (inLine() === 0 || doneNow !== doneThen) idleSince = null;
      else idleSince ??= now;
      doneThen = doneNow;
    },
    lookEnds() {
      lookSince = null;
    },
    reason() {
      const now = clock.monotonic();
      if (lookSince !== null && now - lookSince > PATIENCE_MS) return 'the store does not respond';
      if (idleSince !== null && now - idleSince > PATIENCE_MS) return 'deliveries are due, and none is sent';
      return null;
    },
  };
}
