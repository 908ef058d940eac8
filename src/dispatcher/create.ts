import type { Timer } from '../lib/clock.ts';
import { toBodyBytes } from '../model/body-bytes.ts';
import type { AttemptRecord } from '../model/delivery.ts';
import { createConnect } from '../webhooks/connect.ts';
import { createLookup } from '../webhooks/target-lookup.ts';
import type { Lookup } from '../webhooks/targets.ts';
import { refuseTests } from '../webhooks/test-delivery.ts';
import { createAttempts } from './attempt.ts';
import { createClaimer } from './claim.ts';
import { createCommit } from './commit.ts';
import type { Dispatcher, DispatcherParts } from './dispatcher.ts';
import type { Lane } from './lanes.ts';
import { createPools } from './pools.ts';
import { createProber } from './probes.ts';
import { createScheduler } from './scheduler.ts';
import { createSend } from './send.ts';
import { watchSteps } from './step-watch.ts';
import { WINDOW_MS } from './throttle.ts';
import { createTurns } from './turns.ts';

/** How often to look for work that another process stored; also the housekeeping's beat. */
const SAFETY_NET_MS = 15_000;

/** What tests put in the network's place. */
export interface DispatcherNetwork {
  lookup?: Lookup;
  /** Certificate authorities besides the system's, PEM. */
  ca?: string;
}

/** Wires the room together; the parts know each other only through what they are given here. */
export function createDispatcher(parts: DispatcherParts, network: DispatcherNetwork = {}): Dispatcher {
  const { store, log, newId, random, secretBox, allowTargets: allow, localAddress } = parts;
  const clock = watchSteps(parts.clock, onClockStep);
  const { lookup = createLookup(), ...tls } = network;
  const pools = createPools(clock, createConnect({ clock, allow, lookup, localAddress, ...tls }));
  // When an attempt starts is told, not planned by: it needs no watch.
  const attempts = createAttempts({
    clock: parts.clock,
    newId,
    secretBox,
    allow,
    log,
    send: createSend(parts.clock, pools),
  });
  const commit = createCommit({ store, clock, log });
  const leaseToken = newId('lease');
  const toSend = createTurns<Lane>();
  const toClaim = createTurns<Lane>();
  const scheduler = createScheduler({
    ...{ clock, random, attempts, commit, toSend, toClaim },
    claimer: () => claimer,
  });
  const claimer = createClaimer({
    ...{ store, clock, leaseToken, attempts, log },
    turns: toClaim,
    onClaimed: scheduler.consider,
    onDone: scheduler.wake,
  });

  const prober = createProber({ store, clock, attempts, scheduler, leaseToken, log });

  let state: 'new' | 'running' | 'stopped' = 'new';
  let safetyNet: Timer | null = null;

  /** Posted before anything that reckons with the new time, so that the store has moved what is planned by then. */
  function onClockStep(deltaMs: number): void {
    log.warn({ delta_ms: deltaMs }, 'the clock was set; planned retries move with it');
    scheduler.shift(deltaMs);
    store.shiftDue(parts.clock.now(), deltaMs).catch((error: unknown) => {
      log.error({ err: error }, 'planned retries could not be moved with the clock');
    });
  }

  async function lookAround(): Promise<void> {
    void prober.run();
    try {
      const lanes = await store.listDueLanes();
      for (const { endpointId, tenantId, nextDueAt } of lanes) scheduler.due(endpointId, tenantId, nextDueAt);
      scheduler.wake();
      scheduler.prune();
      pools.sweep();
    } catch (error) {
      log.warn({ err: error }, 'waiting work could not be listed; trying again');
    }
    if (state === 'running') armSafetyNet();
  }

  function armSafetyNet(): void {
    safetyNet = clock.after(SAFETY_NET_MS, () => void lookAround());
  }

  /** The throttle holds over a restart: it is told of the attempts that still count. */
  async function seedThrottles(): Promise<void> {
    const now = clock.now();
    const offset = clock.monotonic() - now;
    for (const { endpointId, startedAt } of await store.recentAttempts(now - WINDOW_MS)) {
      scheduler.lane(endpointId, '').throttle.record(Math.min(startedAt, now) + offset);
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
      await store.releaseLeases(leaseToken);
    } catch (error) {
      log.warn({ err: error }, 'leases could not be released; the next start ends them');
    }
  }

  return {
    async start() {
      await seedThrottles();
      const lanes = await store.recoverDeliveries();
      state = 'running';
      for (const { endpointId, tenantId, nextDueAt } of lanes) scheduler.due(endpointId, tenantId, nextDueAt);
      scheduler.wake();
      armSafetyNet();
    },
    nudge(lanes) {
      if (state !== 'running') return; // before the start, the start itself finds the work
      const now = clock.now();
      for (const { endpointId, tenantId } of lanes) scheduler.due(endpointId, tenantId, now);
      scheduler.wake();
    },
    endpointChanged: scheduler.changed,
    async sendTest({ endpoint, deliveryId, body }) {
      if (state !== 'running') return await refuseTests({ endpoint, deliveryId, body });
      const lane = scheduler.lane(endpoint.id, endpoint.tenantId);
      const limit = endpoint.settings.rate_limit_per_minute;
      const answer = await scheduler.outOfTurn(lane, limit, async () => {
        // Stored first: it counts for the throttle over a restart too, and was sent if anybody saw it.
        await store.recordTestSend({ id: deliveryId, endpointId: endpoint.id, startedAt: clock.now() });
        const delivery = { id: deliveryId, ...toBodyBytes(body), attempt: 1, attemptsInCycle: 0 };
        return await new Promise<AttemptRecord>((done) => {
          const mayRepeat = () => lane.throttle.take(clock.monotonic());
          attempts.run(attempts.prepare(endpoint), delivery, { mayRepeat, done });
        });
      });
      return 'sent' in answer
        ? { kind: 'sent', record: answer.sent }
        : { kind: 'throttled', retryAfterMs: answer.retryAfterMs };
    },
    async stop(graceMs) {
      if (state === 'stopped') return;
      state = 'stopped';
      safetyNet?.cancel();
      const allLanded = await landed(graceMs);
      await pools.destroy();
      // What was cut off may have arrived: its lease stays, so that the next start counts it for the throttle.
      if (allLanded) await releaseLeases();
    },
  };
}
