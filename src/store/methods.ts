import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../lib/clock.ts';
import { standInLine } from '../lib/yielding.ts';
import type { AuditActor } from '../model/audit.ts';
import type { AttemptRecord, ClaimedDelivery, SentEventType } from '../model/delivery.ts';
import type { RoutedEvent } from '../model/event.ts';
import { isAudited } from './audited.ts';
import type { StoredDeliveries, StoredLaneClaim } from './changes/claims.ts';
import type { AttemptDetail, StoredAttempt } from './changes/deliveries.ts';
import { bundled } from './changes/event-bundles.ts';
import type { Recovery } from './changes/processes.ts';
import { type AuditedActor, toldName } from './changes/requests.ts';
import { type Changes, createChanges, type NamedChange, type StoreStatements } from './changes.ts';
import type { DeliveryStore, HeldAttempt } from './delivery-store.ts';
import { createDueLanes, type LaneReads } from './due-lanes.ts';
import { KEPT_STEPS } from './kept-steps.ts';
import { createMadeDueFeed, type MadeDueFeed } from './made-due.ts';
import type { Presence } from './presence.ts';
import type { HeldKey, IdempotencyStore, KeptBodyReads } from './request-store.ts';
import type { AnyChange, Asks } from './script.ts';
import type { CommittedSignal, SignalStore } from './signal-store.ts';
import type { SourceStore } from './source-store.ts';
import type { Store } from './store.ts';
import { remaindersOf, storedEvents, storesEvents } from './stored-events.ts';
import type { Writer } from './writer.ts';

/** The changes as the store's callers see them: resolved after COMMIT. */
export type StoreChanges = {
  [K in keyof Changes]: (...args: Parameters<Changes[K]>) => Promise<ReturnType<Changes[K]>>;
};

/** A driver's queries about processes. */
export interface LifeReads {
  /** Whether another process has stopped sending heartbeats. */
  hasSilent(process: string, now: number): Promise<boolean>;
  /** The number of other live processes. */
  countHeard(process: string, now: number): Promise<number>;
}

/** The times of attempts to endpoints that were taken over, by endpoint, in ascending order. */
export type StartsOf = (asked: {
  endpointIds: string[];
  /** Attempt numbers by delivery ID, as stored in a lease. */
  held: Record<string, number>;
  since: number;
  now: number;
}) => Promise<Map<string, number[]>>;

export interface MethodDeps {
  clock: Clock;
  writer: Writer;
  reads: LifeReads & LaneReads & KeptBodyReads & { readProbe(): Promise<unknown> };
  presenceOf(changes: StoreChanges): Presence;
  /** Needed if several nodes share endpoints; omitted: each process has its own throttles. */
  startsOf?: StartsOf;
  /** The whole store, which includes these methods. */
  store(): Store;
}

/**
 * The methods of every driver's store: each change by name, which goes to the writer, and methods with several steps
 * or with different parameters. The driver adds its queries.
 */
export function createMethods({ clock, writer, reads, presenceOf, startsOf, store }: MethodDeps) {
  const acting = new AsyncLocalStorage<AuditActor | null>();
  const madeDue = createMadeDueFeed();
  const listDueLanes = createDueLanes(reads);

  /** The current actor, if changes with this name are recorded in the audit log; otherwise null. */
  function auditedActor(name: string): AuditedActor | null {
    const actor = acting.getStore() ?? null;
    return actor === null || !isAudited(toldName(name)) ? null : { ...actor, at: clock.now() };
  }

  const byName: Record<string, (...args: never) => Promise<unknown>> = {};
  // Only the names are used: the writer runs the changes.
  for (const name of Object.keys(createChanges({} as Asks<StoreStatements>)) as (keyof Changes)[]) {
    byName[name] = (...args: Parameters<Changes[keyof Changes]>) => {
      const by = auditedActor(name);
      const call: AnyChange = by === null ? [name, args] : ['makeDone', [{ ...by, name, args }]];
      const done = writer.run(call as NamedChange);
      if (!storesEvents(call)) return done;
      return done.then(async (result) => {
        await storeRemainders(storedEvents(call, result));
        return result;
      });
    };
  }
  const changes = byName as StoreChanges;
  /** Callers wait for them: an endpoint with ordered delivery gets events in the order in which requests were answered. */
  async function storeRemainders(events: readonly RoutedEvent[]): Promise<void> {
    for (const remainder of remaindersOf(events)) await changes.storeRemainder(remainder).catch(() => null);
  }

  const presence = presenceOf(changes);
  writer.onCommit((batch, { values, failed }) => madeDue.publish(batch, values, failed));

  return {
    ...changes,
    ...claimMethods(changes, presence, startsOf ?? null),
    ...inHandMethods(changes, { presence, publish: madeDue.publish, ownOnly: startsOf !== undefined }),
    epoch: presence.epoch,
    storeRemainders,
    listDueLanes,
    ...recoveryMethods({ changes, reads, listDueLanes, presence, clock }),
    ...outcomeMethods(changes),
    ...keyedRequestMethods(changes, reads, presence),
    keeping: (held: HeldKey, item = '') => keepingStore(store(), changes, { held, item, auditedActor }),
    onCommitted: madeDue.listen,
    as: <T>(actor: AuditActor | null, work: () => T) => acting.run(actor, work),
    async probe() {
      await changes.writeProbe(clock.now());
      await reads.readProbe();
    },
    waitMs: writer.waitMs,
    /** Commits waiting changes, and marks this process as stopped. */
    async close() {
      await Promise.all([presence.end(), writer.close()]); // nothing is claimed after this
    },
  };
}

/** Claims in the format of the writer: held deliveries as one text, claimed ones as one text and one buffer. */
function claimMethods(
  { claimLanes, claimOldest }: StoreChanges,
  presence: Presence,
  startsOf: StartsOf | null,
): Pick<DeliveryStore, 'claimDeliveries' | 'claimProbe'> {
  /** Attempt times by endpoint, for those that were taken over. */
  async function recentOf(
    claims: StoredLaneClaim[],
    { since, now }: { since: number; now: number },
  ): Promise<Map<string, number[]>> {
    const taken = claims.filter(({ takenFrom }) => takenFrom !== undefined);
    if (startsOf === null || taken.length === 0) return new Map();
    const held = Object.assign({}, ...taken.map(({ takenFrom = '{}' }) => JSON.parse(takenFrom)));
    return startsOf({ endpointIds: taken.map(({ endpointId }) => endpointId), held, since, now });
  }

  return {
    async claimDeliveries({ lanes, recentSince, ...terms }) {
      const stored = lanes.map((lane) => ({ ...lane, held: heldText(lane.held) }));
      const claims = await claimLanes({ lanes: stored, ...terms, process: await presence.name() });
      const { now } = terms;
      const recent = await recentOf(claims, { since: recentSince ?? now, now });
      return claims.map(({ takenFrom: _, ...claim }) => {
        const starts = recent.get(claim.endpointId);
        return {
          ...claim,
          deliveries: toClaimed(claim.deliveries),
          ...(starts !== undefined && { recent: starts }),
        };
      });
    },
    async claimProbe({ held, recentSince: _, ...terms }) {
      const probe = await claimOldest({ held: heldText(held), ...terms, process: await presence.name() });
      const [delivery] = toClaimed(probe?.delivery ?? null);
      return probe === null || delivery === undefined ? null : { endpoint: probe.endpoint, delivery };
    },
  };
}

function heldText(held: readonly HeldAttempt[]): string {
  return `{${held.map(({ id, attempt }) => `"${id}":${attempt}`).join(',')}}`;
}

function toClaimed(stored: StoredDeliveries | null): ClaimedDelivery[] {
  if (stored === null) return [];
  const { buffer, byteOffset, byteLength } = stored.bodies;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const list = JSON.parse(stored.list) as (string | number)[];
  const deliveries: ClaimedDelivery[] = [];
  let start = 0;
  for (let i = 0; i < list.length; i += 5) {
    const end = start + (list[i + 4] as number);
    const [attempt, attemptsInCycle] = [list[i + 2] as number, list[i + 3] as number];
    const [id, eventType] = [list[i] as string, list[i + 1] as SentEventType];
    deliveries.push({ id, eventType, attempt, attemptsInCycle, bytes, start, end });
    start = end;
  }
  return deliveries;
}

/** Signals whose deliveries are reserved when they are stored; the message to the writer names each delivery once. */
function inHandMethods(
  { commitSignalsHeld }: StoreChanges,
  { presence, publish, ownOnly }: { presence: Presence; publish: MadeDueFeed['publish']; ownOnly: boolean },
): Pick<SignalStore, 'commitSignalsInHand'> {
  return {
    async commitSignalsInHand(signals, taking) {
      const { lanes, recentSince: _, ...terms } = taking;
      const wanted = new Set(lanes.flatMap(({ deliveryIds }) => deliveryIds));
      const stored = signals.map((signal) => ({
        ...signal,
        events: signal.events.map((routed) => bundled(routed, wanted)),
      }));
      const known = lanes.map(({ endpointId, knownVersion }) => `"${endpointId}":${knownVersion}`);
      const { committed, refused } = await commitSignalsHeld(stored, {
        ...terms,
        ...(ownOnly && { ownOnly }),
        lanes: `{${known.join(',')}}`,
        process: await presence.name(),
      });
      const created = signals.filter((_, i) => committed[i]?.status === 'created');
      const taken = created
        .flatMap(({ events }) => events.flatMap(({ deliveries }) => deliveries))
        .filter(({ id, endpointId }) => wanted.has(id) && !refused.includes(endpointId));
      const result = { committed, taken: taken.map(({ id }) => id) };
      publish([['commitSignalsInHand', [signals, taking]]], [result]);
      return result;
    },
  };
}

/** Outcomes as flat arrays for the writer: passing an object costs more than storing its row. */
function outcomeMethods({
  recordDelivered,
  recordAttempt,
}: StoreChanges): Pick<DeliveryStore, 'recordOutcome'> {
  return {
    recordOutcome(outcome) {
      const attempt = toStored(outcome.attempt);
      const { deliveryId, endpointId, streak, next, probe } = outcome;
      if (next.status !== 'delivered' || streak !== 'keep' || probe) {
        return recordAttempt({ ...outcome, attempt });
      }
      const { id, attempt: number, startedAt, durationMs, detail } = attempt;
      return recordDelivered(deliveryId, id, number, startedAt, durationMs, detail, endpointId);
    },
  };
}

/** Computed before the transaction, which should hold its lock only for SQL. */
function toStored(record: AttemptRecord): StoredAttempt {
  const { id, attempt, startedAt, durationMs, sent, response, error, timings } = record;
  const detail: AttemptDetail = { sent, response, error, timings };
  return { id, attempt, startedAt, durationMs, detail: JSON.stringify(detail) };
}

type RecoveryMethods = Pick<DeliveryStore, 'recoverDeliveries' | 'hasDeparted'> &
  Pick<SourceStore, 'recoverSources' | 'claimSources'> &
  Pick<Store, 'countOthers'>;

interface RecoveryDeps {
  changes: StoreChanges;
  reads: LifeReads;
  listDueLanes: DeliveryStore['listDueLanes'];
  presence: Presence;
  clock: Clock;
}

/**
 * Recovers what dead processes held. Live processes keep their leases, so that two on one file never send the same
 * delivery.
 */
function recoveryMethods({ changes, reads, listDueLanes, presence, clock }: RecoveryDeps): RecoveryMethods {
  /** Null if there is nothing to end: a change would cost a commit. */
  async function recovery(own: boolean, now: number): Promise<Recovery | null> {
    const process = await presence.name();
    return own || (await reads.hasSilent(process, now)) ? { process, own, now } : null;
  }

  return {
    countOthers: async () => reads.countHeard(await presence.name(), clock.now()),
    hasDeparted: async () => (await recovery(false, clock.now())) !== null,
    async recoverDeliveries({ own }) {
      const asked = await recovery(own, clock.now());
      if (asked !== null) await changes.endLaneLeases(asked);
      return listDueLanes();
    },
    async recoverSources({ own, now }) {
      const asked = await recovery(own, now);
      return asked === null ? [] : changes.endSourceLeases(asked);
    },
    claimSources: async (claim) => changes.leaseSources({ ...claim, process: await presence.name() }),
  };
}

/** Keyed requests. */
function keyedRequestMethods(
  changes: StoreChanges,
  reads: KeptBodyReads,
  presence: Presence,
): IdempotencyStore {
  /**
   * Tokens of the requests that this process is running: others in its name were given up without informing the
   * storage.
   */
  const underWay = new Set<string>();

  return {
    async reserveKey(request, reservation) {
      const { token } = reservation;
      underWay.add(token);
      let from: string | null = null;
      try {
        const process = await presence.name();
        for (;;) {
          const found = await changes.bidForKey(request, { ...reservation, process, from });
          if (found.state === 'held') return found;
          if (found.state === 'answered') {
            await standInLine(); // results of one commit arrive together, also those of other tenants
            const body = await reads.keptBody(request);
            if (body === null) continue; // deleted meanwhile, for a person who was erased
            underWay.delete(token);
            return { state: 'answered', answer: { ...found.answer, body } };
          }
          if (found.state === 'mismatch') {
            underWay.delete(token);
            return found;
          }
          if (!found.own || underWay.has(found.token)) {
            underWay.delete(token);
            return { state: 'running' };
          }
          from = found.token; // its holder is gone: the next attempt gets it, or finds a new holder
        }
      } catch (error) {
        underWay.delete(token);
        throw error;
      }
    },
    answerKey: (request, token, answer) =>
      changes.answerKey(request, token, answer).finally(() => underWay.delete(token)),
    releaseKey: (request, token) => changes.releaseKey(request, token).finally(() => underWay.delete(token)),
  };
}

/** The store for the changes of a held request ({@link Store.keeping}). */
function keepingStore(
  store: Store,
  changes: StoreChanges,
  {
    held,
    item,
    auditedActor,
  }: { held: HeldKey; item: string; auditedActor: (name: string) => AuditedActor | null },
): Store {
  const { request, token } = held;
  const done = held.steps.filter((step) => step.item === item);

  async function make(name: string, args: unknown[]): Promise<unknown> {
    const place = done.findIndex((step) => step.name === name);
    if (place >= 0) return done.splice(place, 1)[0]?.result;
    return changes.makeKept({ request, token, item, name, args, by: auditedActor(name) });
  }

  const kept = Object.fromEntries(KEPT_STEPS.map((name) => [name, (...args: unknown[]) => make(name, args)]));
  return {
    ...store,
    ...kept,
    // Reserves nothing: a second run would replay the reservations of the first, and send its deliveries again.
    async commitSignalsInHand(signals) {
      return { committed: (await make('commitSignals', [signals])) as CommittedSignal[], taken: [] };
    },
  };
}
