import { type Clock, type Timer, watchSteps } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { Tracer } from '../lib/tracing.ts';
import type { NewWork } from '../model/event.ts';
import type { DueLane } from '../store/delivery-store.ts';
import type { Store } from '../store/store.ts';
import { createConnect } from '../webhooks/connect.ts';
import type { Reserve } from '../webhooks/fan-out.ts';
import { createLookup } from '../webhooks/target-lookup.ts';
import type { Lookup } from '../webhooks/targets.ts';
import { refuseTests, type SendTest } from '../webhooks/test-delivery.ts';
import { createAgenda, createWakeUp } from './agenda.ts';
import { createAlarms } from './alarms.ts';
import { createClaimer, createReserve, withTraces } from './claim.ts';
import { createPools } from './pools.ts';
import { createDispatcherTally, createOutcomeRecorder, type DispatcherTally, type Log } from './recorder.ts';
import { createScheduler } from './scheduler.ts';
import type { Exchange } from './send.ts';
import { createSlots, HEALTH_LEVELS } from './slots.ts';
import { createPrepareTarget } from './target.ts';
import { WINDOW_MS } from './throttle.ts';
import { createProber, createSendTest } from './unqueued.ts';

/** What the dispatcher needs of the process. */
export interface DispatcherDeps {
  store: Store;
  clock: Clock;
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
  /** Addresses exempt from the public-HTTPS rule. */
  allowTargets: AddressSet;
  /** Local address of outgoing connections; null: the system's choice. */
  localAddress: string | null;
  /** One structured log line; never given bodies, secrets or URLs with a query. */
  log: Log;
  /** Null or left out: nothing is traced. */
  tracer?: Tracer | null;
}

/** How it is doing. */
export interface DispatcherPulse {
  tally: DispatcherTally;
  /** Requests that are under way. */
  inFlight: number;
  /** Outcomes that wait for their commit. */
  uncommitted: number;
  /** Endpoints with work that waits for nothing but their throttle. */
  throttled: number;
  /** Why nothing is delivered that should be, in words for an operator; null: all is well. */
  stuck: string | null;
}

/** Takes stored deliveries to their receivers. */
export interface Dispatcher {
  /**
   * Recovers what a dead process had in flight and begins to deliver; returns how many endpoints have work that waits. May be
   * called again where it failed.
   */
  start(): Promise<number>;
  /** Says that new work was committed for these endpoints. Cheap, synchronous, never throws. */
  nudge(lanes: readonly NewWork[]): void;
  /** Takes on what can be sent at once, as it is being stored: see {@link Reservation}. Never throws. */
  reserve: Reserve;
  /** Says that an endpoint was changed: every later attempt goes by what is stored now. */
  endpointChanged(endpointId: string): void;
  /** Sends a test at once, within the throttle; works while the endpoint is paused, and leaves count and pause alone. */
  sendTest: SendTest;
  /** Asked for now and then: it looks at every endpoint with work. */
  pulse(): DispatcherPulse;
  /** Stops claiming and waits for what is in flight, at most `graceMs`; then cuts it off (it is sent again later). */
  stop(graceMs: number): Promise<void>;
}

/** How often to look for work that another process stored, or held when it died; also the housekeeping's beat. */
const SAFETY_NET_MS = 15_000;

const NOT_RUNNING = { new: 'deliveries have not begun yet', stopped: 'the server is stopping' };

/** What tests put in the network's place. */
export interface DispatcherNetwork {
  lookup?: Lookup;
  /** Certificate authorities besides the system's, PEM. */
  ca?: string;
}

/** Wires the room together; the parts know each other only through what they are given here. */
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
  const agenda = createAgenda({ clock, slots, wakeUp });
  const tally = createDispatcherTally();
  const recorder = createOutcomeRecorder({ store, clock, log, tally });
  // The start of an attempt is only reported, nothing is planned by it: it needs no watch.
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
  const claimer = createClaimer({ store, clock, leaseToken, prepare, agenda, wakeUp, log });
  const scheduler = createScheduler({ store, clock, wakeUp, agenda, slots, recorder, claimer, flights });
  const prober = createProber({ store, clock, agenda, prepare, flights, leaseToken, log });
  const reserve = createReserve({ clock, agenda, wakeUp, leaseToken });
  const sendTest = createSendTest({ store, clock, agenda, prepare, flights });

  const standstill = createStandstill({
    clock,
    inLine: () =>
      agenda.toClaim.size + HEALTH_LEVELS.reduce((sum, name) => sum + agenda.toSend[name].size, 0),
    done: () => sumOf(tally.seconds.counts),
  });

  let state: 'new' | 'running' | 'stopped' = 'new';
  let safetyNet: Timer | null = null;

  /** Posted before anything that reckons with the new time, so that the store has moved what is planned by then. */
  function onClockStep(deltaMs: number): void {
    log.warn({ delta_ms: deltaMs }, 'the clock was set; planned retries move with it');
    agenda.shift(deltaMs);
    store.shiftDue(deps.clock.now(), deltaMs).catch((error: unknown) => {
      log.error({ err: error }, 'planned retries could not be moved with the clock');
    });
  }

  async function lookAround(): Promise<void> {
    standstill.lookBegins();
    void prober.run();
    try {
      // Before its leases end: until then nobody sends in its place, and they say what was under way.
      if (await store.hasDeparted()) await seedThrottles();
      takeUp(await store.recoverDeliveries({ own: false }));
      pools.sweep();
      standstill.lookEnds();
    } catch (error) {
      log.warn({ err: error }, 'waiting work could not be listed; trying again');
    }
    if (state === 'running') armSafetyNet();
  }

  function takeUp(lanes: readonly DueLane[]): void {
    for (const { endpointId, tenantId, nextDueAt } of lanes) agenda.due(endpointId, tenantId, nextDueAt);
    wakeUp.soon();
  }

  function armSafetyNet(): void {
    safetyNet = clock.after(SAFETY_NET_MS, () => void lookAround());
  }

  /**
   * The throttle holds over a restart, and where an endpoint is taken over: it counts the attempts of the last minute. A lane
   * that has sent itself had the endpoint to itself meanwhile.
   */
  async function seedThrottles(): Promise<void> {
    const now = clock.now();
    const offset = clock.monotonic() - now;
    const attempts = await store.recentAttempts(now - WINDOW_MS, now);
    const ids = new Set(attempts.map(({ endpointId }) => endpointId));
    const silent = new Set([...ids].filter((id) => agenda.lane(id, '').throttle.emptyAt() <= now + offset));
    for (const { endpointId, startedAt } of attempts) {
      if (!silent.has(endpointId)) continue;
      const lane = agenda.lane(endpointId, '');
      lane.throttle.record(Math.min(startedAt, now) + offset);
      agenda.consider(lane);
    }
  }

  /** True once nothing is in flight, false where that takes longer than `graceMs`. */
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
      // Another process that sends in this one's place ends them, once it has counted what was sent.
      if ((await store.countOthers()) === 0) await store.releaseLeases(leaseToken);
    } catch (error) {
      log.warn({ err: error }, 'leases could not be released; they end with this process');
    }
  }

  return {
    async start() {
      await seedThrottles();
      const lanes = await store.recoverDeliveries({ own: true });
      if (state === 'stopped') return 0;
      state = 'running';
      takeUp(lanes);
      armSafetyNet();
      return lanes.length;
    },
    nudge(lanes) {
      if (state !== 'running') return; // before the start, the start itself finds the work
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
      throttled: agenda.throttled(),
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
      // What was cut off may have arrived: its lease stays, so that the next start counts it for the throttle.
      if (allLanded) await releaseLeases();
    },
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** Notices a dispatcher that does nothing although there is something to do. */
export interface Standstill {
  /** A look around has begun, and ended. */
  lookBegins(): void;
  lookEnds(): void;
  /** Why nothing moves, or null. */
  reason(): string | null;
}

export interface StandstillDeps {
  clock: Clock;
  /** Lanes in line for what they could do at once. */
  inLine(): number;
  /** A number that grows with all that is done. */
  done(): number;
}

/** Longer than the store makes anybody wait, and than a receiver may take. */
const PATIENCE_MS = 60_000;

/**
 * Looked at with every look around (15 s), so that attempts pay nothing for it. A lane is in line for a moment only, unless
 * all slots are taken; those who hold them give them back within 30 s, and that counts as done.
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
      if (lookSince !== null && now - lookSince > PATIENCE_MS) return 'the store does not tell what waits';
      if (idleSince !== null && now - idleSince > PATIENCE_MS) return 'deliveries are due, and none is sent';
      return null;
    },
  };
}
