import { DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import { idFloor } from '../../lib/ids.ts';
import type { AttemptRecord, DeliveryStatus, Outcome } from '../../model/delivery.ts';
import type { EventType } from '../../model/event.ts';
import { endUndelivered, FAILED, replayRefusal, speedOf } from '../../rules/deliveries.ts';
import type { DeliveryLogStore, ReplayResult } from '../delivery-log-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { createEndpointHealth, type EndpointStatements } from './endpoints.ts';
import { createBodies, createDeadNotices } from './events.ts';

/** A position in the order of deliveries: creation time and id. */
export interface DeliveryKey {
  createdAt: number;
  id: string;
}

/** The range and filters of a scan. */
export interface WalkTerms {
  tenantId: string;
  endpointId: string | null;
  /** As stored; null: any. */
  statuses: DeliveryStatus[] | null;
  eventType: EventType | null;
  /** Half open. */
  from: number | null;
  to: number | null;
  direction: 'ASC' | 'DESC';
}

/** A part of a scan: matching deliveries, and where the next part starts; null at the end. */
export interface WalkPart {
  found: DeliveryKey[];
  next: DeliveryKey | null;
}

export interface DeliveryStatements extends EndpointStatements {
  deliveries: {
    insertAttempt(
      id: string,
      deliveryId: string,
      attempt: number,
      startedAt: number,
      durationMs: number,
      detail: string,
    ): void;
    /** Adds `count` attempts of one endpoint, hour (since 1970) and speed. */
    countAttempts(endpointId: string, hour: number, speed: number, count: number): void;
    selectCounted(after: string, limit: number): string[];
    /** For endpoints after `after` up to `last`. */
    mergeHours(after: string, last: string, before: number): void;
    deleteMergedHours(after: string, last: string, before: number): void;
    deleteHours(after: string, last: string, before: number): void;
    finishOutcome(
      status: string,
      dueAt: number | null,
      expiresAt: number | null,
      attempt: number,
      deliveryId: string,
      countedBefore: number,
    ): boolean;
    finishDelivered(attempt: number, deliveryId: string, countedBefore: number): boolean;
    spare(deliveryId: string): void;
    selectBody(deliveryId: string): number | undefined;
    selectOne(id: string, tenantId: string): ReplayRow | undefined;
    again(now: number, id: string, status: string): boolean;
    selectPausedSince(heldBefore: number): HeldLane[];
    endHeld(
      status: string,
      expiresAt: number | null,
      id: string,
      heldBefore: number,
      limit: number,
    ): { id: string }[];
    selectExpired(now: number, limit: number): string[];
    markExpired(id: string): void;
    selectUncleared(): string[];
    markCleared(id: string): void;
    deleteAttempts(beforeId: string, limit: number): number;
    deleteDelivery(id: string): void;
    deleteBatched(id: string): void;
    deleteLatePlace(id: string): void;
    deleteDeadPlace(id: string): void;
    selectRemovable(id: string): number | undefined;
    deleteEndpoints(before: number, limit: number): number;
    pruneTestSends(before: number): number;
    /** Up to `limit` matching deliveries among the next `scan`, in chronological order. */
    walk(terms: WalkTerms, after: DeliveryKey | null, part: { scan: number; limit: number }): WalkPart;
    insertTestSend(id: string, endpointId: string, startedAt: number): void;
  };
}

/** The members of an attempt without a column. */
export type AttemptDetail = Omit<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'>;

/** An attempt as stored. */
export interface StoredAttempt extends Pick<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'> {
  /** The other members as JSON. */
  detail: string;
}

/** An outcome with its attempt as stored, so that the message to the writer is flat and small. */
export interface StoredOutcome extends Omit<Outcome, 'attempt'> {
  attempt: StoredAttempt;
}

/** The most common outcome, flat: delivery, attempt, its number, start, duration, detail, and the endpoint. */
export type DeliveredTuple = [string, string, number, number, number, string, string];

/** Records outcomes. If the attempt was already counted, only its log is stored. */
export function outcomeChanges(ask: Asks<DeliveryStatements>) {
  const settleHealth = createEndpointHealth(ask);
  const addDeadNotice = createDeadNotices(ask);

  /** Empties the response if the delivery was erased during the attempt, which removes its body. */
  function* forgetReplyOfErased(deliveryId: string): Script<void> {
    if ((yield* ask.deliveries.selectBody(deliveryId)) === undefined)
      yield* ask.events.emptyReplies(deliveryId);
  }

  const count = (endpointId: string, startedAt: number, speed: number) =>
    ask.deliveries.countAttempts(endpointId, Math.floor(startedAt / HOUR_MS), speed, 1);

  return {
    /** A successful attempt that was no probe, to an endpoint with no failures to reset. */
    *recordDelivered(
      ...[deliveryId, id, attempt, startedAt, durationMs, detail, endpointId]: DeliveredTuple
    ): Script<boolean> {
      yield* ask.deliveries.insertAttempt(id, deliveryId, attempt, startedAt, durationMs, detail);
      const applied = yield* ask.deliveries.finishDelivered(attempt, deliveryId, attempt - 1);
      if (applied) yield* count(endpointId, startedAt, speedOf(durationMs));
      else yield* forgetReplyOfErased(deliveryId);
      return applied;
    },
    *recordAttempt({ attempt, next, ...outcome }: StoredOutcome): Script<boolean> {
      const { deliveryId, probe } = outcome;
      const { id, attempt: number, startedAt, durationMs, detail } = attempt;
      yield* ask.deliveries.insertAttempt(id, deliveryId, number, startedAt, durationMs, detail);
      const dueAt = next.status === 'retrying' ? next.at : null;
      const expiresAt = next.status === 'dead' ? next.expiresAt : null;
      if (
        !(yield* ask.deliveries.finishOutcome(next.status, dueAt, expiresAt, number, deliveryId, number - 1))
      ) {
        yield* forgetReplyOfErased(deliveryId);
        return false;
      }
      const isSuccess = next.status === 'delivered';
      yield* count(outcome.endpointId, startedAt, isSuccess ? speedOf(durationMs) : FAILED);
      if (probe && next.status === 'retrying') yield* ask.deliveries.spare(deliveryId);
      if (next.status === 'dead') yield* addDeadNotice(deliveryId, next.expiresAt);
      yield* settleHealth(outcome);
      return true;
    },
  };
}

interface ReplayRow {
  status: string;
  endpoint_id: string;
  has_body: number;
  deleted: number;
  pull: number;
}

/**
 * Replays a finished delivery: pending, due immediately, with a full set of retries. Its id and attempt count stay;
 * `cycle_start` is where its retries are counted from. If the endpoint is paused, it is held like any other.
 */
export function replayChanges(ask: Asks<DeliveryStatements>) {
  function* replayOne(
    tenantId: string,
    id: string,
    now: number,
    only: string | null = null,
  ): Script<ReplayResult> {
    const row = yield* ask.deliveries.selectOne(id, tenantId);
    if (row === undefined || (only !== null && row.endpoint_id !== only)) return { outcome: 'absent' };
    const status = row.status as DeliveryStatus;
    const refusal = replayRefusal({
      status,
      hasBody: row.has_body === 1,
      endpointDeleted: row.deleted === 1,
      isPull: row.pull === 1,
    });
    if (refusal !== null) return { outcome: refusal };
    yield* ask.deliveries.again(now, id, row.status);
    return { outcome: 'replayed', endpointId: row.endpoint_id };
  }

  return {
    replayDelivery: replayOne,
    *replayList({ tenantId, endpointId, ids, now }) {
      let replayed = 0;
      for (const id of new Set(ids)) {
        const { outcome } = yield* replayOne(tenantId, id, now, endpointId);
        if (outcome === 'replayed') replayed++;
      }
      return replayed;
    },
    *replayRange({ tenantId, endpointId, status, eventType = null, from, to, after, limit, now }) {
      const { found, next } = yield* ask.deliveries.walk(
        {
          ...{ tenantId, endpointId, from, to, direction: 'ASC' },
          ...{ statuses: [status], eventType },
        },
        after === null ? null : { createdAt: Number(after[0]), id: String(after[1]) },
        { scan: limit, limit },
      );
      let replayed = 0;
      for (const { id } of found) if (yield* ask.deliveries.again(now, id, status)) replayed++;
      return { replayed, next: next === null ? null : [next.createdAt, next.id] };
    },
  } satisfies Scripts<DeliveryLogStore>;
}

interface HeldLane {
  id: string;
  dead_letter: number;
}

/** Retention, in bounded parts. */
export function retentionChanges(ask: Asks<DeliveryStatements>) {
  const bodies = createBodies(ask);
  const addDeadNotice = createDeadNotices(ask);

  /** Deletes the first finished ones without attempts; `isAll`: no others are left. */
  function* remove(found: readonly DeliveryKey[]): Script<{ removed: DeliveryKey[]; isAll: boolean }> {
    const removable: DeliveryKey[] = [];
    for (const one of found)
      if ((yield* ask.deliveries.selectRemovable(one.id)) !== undefined) removable.push(one);
    const ids = yield* bodies.firstOf(removable.map(({ id }) => id));
    yield* bodies.remove(ids);
    for (const id of ids) {
      yield* ask.deliveries.deleteBatched(id);
      yield* ask.deliveries.deleteLatePlace(id);
      yield* ask.deliveries.deleteDeadPlace(id);
      yield* ask.deliveries.deleteDelivery(id);
    }
    return { removed: removable.slice(0, ids.length), isAll: ids.length === removable.length };
  }

  return {
    *endHeld({ heldBefore, deadUntil, limit }) {
      let ended = 0;
      for (const { id, dead_letter } of yield* ask.deliveries.selectPausedSince(heldBefore)) {
        if (ended >= limit) break;
        const end = endUndelivered(dead_letter === 1, deadUntil);
        const expiresAt = end.status === 'dead' ? end.expiresAt : null;
        const moved = yield* ask.deliveries.endHeld(end.status, expiresAt, id, heldBefore, limit - ended);
        if (expiresAt !== null) for (const each of moved) yield* addDeadNotice(each.id, expiresAt);
        ended += moved.length;
      }
      return ended;
    },
    *expireDead({ now, limit }) {
      const ids = yield* bodies.firstOf(yield* ask.deliveries.selectExpired(now, limit));
      for (const id of ids) yield* ask.deliveries.markExpired(id);
      yield* bodies.remove(ids);
      return ids.length;
    },
    *discardOfDeleted(limit) {
      let discarded = 0;
      for (const id of yield* ask.deliveries.selectUncleared()) {
        discarded += yield* ask.endpoints.discard(id, limit - discarded);
        if (discarded >= limit) break;
        yield* ask.deliveries.markCleared(id);
      }
      return discarded;
    },
    *tidyAttemptHours({ now, after, limit }) {
      const ids = yield* ask.deliveries.selectCounted(after, limit);
      const last = ids.at(-1);
      if (last === undefined) return null;
      // Yesterday's hours stay, because the last 24 hours include some of them.
      const day = Math.floor(now / DAY_MS) * 24 - 24;
      yield* ask.deliveries.mergeHours(after, last, day);
      yield* ask.deliveries.deleteMergedHours(after, last, day);
      yield* ask.deliveries.deleteHours(after, last, day - 30 * 24);
      return ids.length < limit ? null : last;
    },
    pruneAttempts: (before, limit) => ask.deliveries.deleteAttempts(idFloor('att', before), limit),
    *pruneDeliveries({ tenantId, before, after, limit }) {
      const { found, next } = yield* ask.deliveries.walk(
        {
          ...{ tenantId, endpointId: null, from: null, to: before, direction: 'ASC' },
          ...{ statuses: null, eventType: null },
        },
        after === null ? null : { createdAt: Number(after[0]), id: String(after[1]) },
        { scan: limit, limit },
      );
      const { removed, isAll } = yield* remove(found);
      const last = isAll ? next : (removed.at(-1) ?? next);
      return { removed: removed.length, next: last === null ? null : [last.createdAt, last.id] };
    },
    pruneEndpoints: (before, limit) => ask.deliveries.deleteEndpoints(before, limit),
    pruneBodyTails: (limit) => bodies.removeUnusedTails(limit),
    pruneTestSends: (before) => ask.deliveries.pruneTestSends(before),
  } satisfies Scripts<DeliveryLogStore>;
}

/** Times of test deliveries, which count towards the rate limit; nothing else of them is stored. */
export function testSendChanges(ask: Asks<DeliveryStatements>) {
  return {
    recordTestSend: ({ id, endpointId, startedAt }) =>
      ask.deliveries.insertTestSend(id, endpointId, startedAt),
  } satisfies Scripts<DeliveryLogStore>;
}
