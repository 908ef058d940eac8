import { ERASED_DATA, isOperational } from '../../model/constants.ts';
import type {
  BodyTail,
  DeliveryBundle,
  EndpointNotice,
  EventRow,
  EventType,
  NewDelivery,
  RoutedEvent,
} from '../../model/event.ts';
import type {
  BackfillStore,
  BatchStore,
  EventRemainder,
  NoticeStore,
  RemainderStore,
  StoredRemainder,
} from '../event-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import {
  type HeldDelivery,
  idsIn,
  type SealedBundles,
  sealedIn,
  skipsOf,
  unbundled,
  unsealed,
} from './event-bundles.ts';

export interface EventStatements {
  events: {
    insertBody(body: string, tailId: number | null): number;
    selectTail(tenantId: string, hash: string): number | undefined;
    insertTail(tenantId: string, hash: string, text: string): number;
    /** The bodies of these deliveries, as JSON lists by event. */
    selectPlaces(deliveryIds: string): { eventId: string; bodyIds: string }[];
    /** The bodies of these deliveries, and their lengths. */
    measureBodies(deliveryIds: string): { deliveryId: string; bodyId: number; bytes: number }[];
    letGo(deliveryIds: string): void;
    deleteBodiesUnlessSent(bodyIds: string, eventId: string): void;
    deleteUnusedTails(limit: number): number;
    insertEvent(
      id: string,
      tenantId: string,
      type: string,
      subjectId: string,
      createdAt: number,
      data: string,
      trace: string | null,
    ): void;
    insertRemainder(eventId: string, part: number, tenantId: string, deliveries: string): void;
    /** Deletes it; returns its deliveries. */
    takeRemainder(eventId: string, part: number): string | undefined;
    /** A tenant's first. */
    selectRemainder(tenantId: string): Omit<EventRemainder, 'tenantId'> | undefined;
    /** The event of a remainder. */
    selectRemainderEvent(eventId: string, tenantId: string): EventRow | undefined;
    /** Whether an event has deliveries that are not stored yet. */
    selectRemaining(eventId: string): number | undefined;
    /** Whether an event was routed to an endpoint when it happened. */
    selectRouted(
      endpointId: string,
      createdAt: number,
      eventId: string,
      batching: string,
      batched: string,
    ): number | undefined;
    insertSkip(id: string, reason: string, endpointIds: string): void;
    insertBatched(id: string, endpointId: string): void;
    /** Of these endpoints, those that are there. */
    selectReceivers(tenantId: string, endpointIds: readonly string[]): readonly string[];
    insertDeliveries(event: EventRow, deliveries: readonly PlacedDelivery[]): void;
    insertNotice(tenantId: string, type: string, facts: string, endpointId: string): void;
    selectDead(deliveryId: string): DeadRow | undefined;
    countNotices(ids: string, tenantId: string): number | undefined;
    removeNotices(ids: string): void;
    /** With consecutive positions in commit order, in this order. */
    insertLateDeliveries(tenantId: string, now: number, deliveryIds: readonly string[]): void;
    selectAbout(subjectIds: string): string[];
    emptyEvent(data: string, id: string, tenantId: string): boolean;
    selectDeliveries(
      eventId: string,
      batches: string,
      after: string,
      limit: number,
    ): { id: string; endpoint_id: string; waits: number }[];
    discard(id: string): void;
    renewEndpoint(id: string): void;
    emptyReplies(deliveryId: string): void;
    advanceBackfill(row: Record<string, unknown>): boolean;
    countBatched(endpointId: string, lastId: string): number | undefined;
    takeBatched(deliveryId: string, endpointId: string, lastId: string): void;
    dropBatched(endpointId: string, limit: number): number;
    leaveBatches(eventId: string): (string | null)[];
    selectWaits(deliveryId: string): number | undefined;
    releaseBatched(deliveryId: string): void;
    readBestOfBatch(endpointId: string, limit: number, best: number): string[];
  };
}

/** Stores a body; returns its id. */
type PlaceOf = (body: Pick<NewDelivery, 'body' | 'tail'>) => Script<number>;

/**
 * The bytes of long texts after which none is deleted in the same commit: SQLite overwrites and frees each page of one. Five hundred bodies
 * of 250 KB took the writer 0.35 s, as many payload formats of 440 KB 0.9 s, and the results of sixty large jobs 0.8 s.
 */
export const MOST_FREED_BYTES = 4_000_000;

/** Stores and deletes bodies, one for all deliveries of an event that send the same bytes. */
export function createBodies(ask: Asks<EventStatements>) {
  function* tailIdOf(tenantId: string, { hash, text }: BodyTail): Script<number> {
    const known = yield* ask.events.selectTail(tenantId, hash);
    return known ?? (yield* ask.events.insertTail(tenantId, hash, text));
  }

  return {
    /** Stores the bodies of one event; returns the body id of each delivery. */
    createPlaces(tenantId: string): PlaceOf {
      // By body, then by tail: one text of both, for each of ten thousand tails, would copy the body as often.
      const places = new Map<string, Map<string, number>>();
      return function* ({ body, tail }) {
        const ofBody = places.get(body) ?? new Map<string, number>();
        places.set(body, ofBody);
        const known = ofBody.get(tail?.hash ?? '');
        if (known !== undefined) return known;
        const tailId = tail === undefined ? null : yield* tailIdOf(tenantId, tail);
        const place = yield* ask.events.insertBody(body, tailId);
        ofBody.set(tail?.hash ?? '', place);
        return place;
      };
    },
    /**
     * Removes the bodies of deliveries, and deletes those that no other delivery of the event uses. This is checked once per event,
     * which may have thousands of deliveries.
     */
    *remove(deliveryIds: readonly string[]): Script<void> {
      const ids = JSON.stringify(deliveryIds);
      const places = yield* ask.events.selectPlaces(ids);
      if (places.length === 0) return;
      yield* ask.events.letGo(ids);
      for (const { eventId, bodyIds } of places) yield* ask.events.deleteBodiesUnlessSent(bodyIds, eventId);
    },
    /** The first of these deliveries, at least one, as many as the length of their bodies allows to remove in one commit. */
    *firstOf(deliveryIds: readonly string[]): Script<readonly string[]> {
      const measured = yield* ask.events.measureBodies(JSON.stringify(deliveryIds));
      const bodyOf = new Map(measured.map((one) => [one.deliveryId, one]));
      const counted = new Set<number>();
      let freed = 0;
      const end = deliveryIds.findIndex((id) => {
        if (freed >= MOST_FREED_BYTES) return true;
        const body = bodyOf.get(id);
        if (body !== undefined && !counted.has(body.bodyId)) freed += body.bytes;
        if (body !== undefined) counted.add(body.bodyId);
        return false;
      });
      return end === -1 ? deliveryIds : deliveryIds.slice(0, end);
    },
    removeUnusedTails: (limit: number): Script<number> => ask.events.deleteUnusedTails(limit),
  };
}

/** Stores an event with its deliveries and skip reasons: part of the change that caused it. */
export function createEventWriter(ask: Asks<EventStatements>): (routed: RoutedEvent) => Script<void> {
  const insertDeliveries = createDeliveriesWriter(ask);
  const bodies = createBodies(ask);

  return function* (routed) {
    const { event, batched, urgent = false } = routed;
    const { id, tenantId, type, subjectId, createdAt, data, trace = null } = event;
    yield* ask.events.insertEvent(id, tenantId, type, subjectId, createdAt, data, trace);
    const terms = { placeOf: bodies.createPlaces(tenantId), urgent };
    yield* insertDeliveries(event, unbundled(routed), terms);
    for (const [part, remainder] of (routed.remainders ?? []).entries()) {
      const bundles = yield* placed(remainder.bundles, terms.placeOf);
      const sealed = sealedIn(remainder);
      const stored: StoredPart = { urgent, bundles, batched: remainder.batched, ...(sealed && { sealed }) };
      yield* ask.events.insertRemainder(id, part, tenantId, JSON.stringify(stored));
    }
    for (const endpointId of batched) yield* ask.events.insertBatched(id, endpointId);
    for (const { reason, endpointIds } of skipsOf(routed))
      yield* ask.events.insertSkip(id, reason, endpointIds);
  };
}

/** A part of an event to be stored in a separate commit, as stored until then. */
interface StoredPart {
  urgent: boolean;
  bundles: StoredBundle[];
  /** Bundles whose bodies are stored in the commit of the part: ten thousand of 15 KB in that of the event made others wait for 2.8 s. */
  sealed?: SealedBundles;
  batched?: string[];
}

type StoredBundle = Omit<DeliveryBundle, 'body' | 'tail'> & { bodyId: number };

/** Stores the bodies of bundles. */
function* placed(bundles: readonly DeliveryBundle[], placeOf: PlaceOf): Script<StoredBundle[]> {
  const stored: StoredBundle[] = [];
  for (const { body, tail, ...bundle } of bundles)
    stored.push({ ...bundle, bodyId: yield* placeOf({ body, ...(tail && { tail }) }) });
  return stored;
}

/** Stores a list of deliveries that was divided from its event. */
export function createRemainderWriter(
  ask: Asks<EventStatements>,
): (remainder: EventRemainder) => Script<StoredRemainder | null> {
  const addPlaces = createLatePlaces(ask);
  const bodies = createBodies(ask);

  return function* ({ tenantId, eventId, part }) {
    const text = yield* ask.events.takeRemainder(eventId, part);
    const event = text === undefined ? undefined : yield* ask.events.selectRemainderEvent(eventId, tenantId);
    if (text === undefined || event === undefined) return null;
    const { urgent, bundles, sealed, batched = [] } = JSON.parse(text) as StoredPart;
    const late = sealed && (yield* placed(unsealed(sealed), bodies.createPlaces(tenantId)));
    const all = [...bundles, ...(late ?? [])].flatMap(({ deliveries, ...like }) =>
      idsIn(deliveries).map((ids) => ({ ...ids, ...like })),
    );
    const there = new Set(
      yield* ask.events.selectReceivers(
        tenantId,
        all.map(({ endpointId }) => endpointId),
      ),
    );
    const rows = all
      .filter(({ endpointId }) => there.has(endpointId))
      .map((delivery) => ({
        ...delivery,
        ...{ dueAt: dueAtOf(delivery, event), inHand: false, urgent },
      }));
    if (rows.length > 0) yield* ask.events.insertDeliveries(event, rows);
    yield* addPlaces(
      tenantId,
      rows.map(({ id }) => id),
      event.createdAt,
    );
    for (const endpointId of batched) yield* ask.events.insertBatched(eventId, endpointId);
    return {
      due: rows.filter(({ status }) => status === 'pending').map(({ endpointId }) => endpointId),
      rejected: rows.filter(({ status }) => status === 'rejected').map(({ endpointId }) => endpointId),
    };
  };
}

const dueAtOf = ({ status }: { status: string }, { createdAt }: EventRow) =>
  status === 'pending' ? createdAt : null;

/** Stores the deliveries of events to very many endpoints in separate commits. */
export function remainderChanges(ask: Asks<EventStatements>) {
  return { storeRemainder: createRemainderWriter(ask) } satisfies Scripts<
    Pick<RemainderStore, 'storeRemainder'>
  >;
}

/** A delivery with what its row holds besides; `urgent`: sent before others of its endpoint. */
export interface PlacedDelivery {
  id: string;
  endpointId: string;
  status: string;
  dueAt: number | null;
  bodyId: number;
  inHand: boolean;
  urgent: boolean;
}

interface WritingTerms {
  placeOf: PlaceOf;
  urgent: boolean;
}

/** Stores deliveries of an event, except for endpoints that are gone; returns their number. */
function createDeliveriesWriter(
  ask: Asks<EventStatements>,
): (event: EventRow, deliveries: readonly HeldDelivery[], terms: WritingTerms) => Script<number> {
  return function* (event, deliveries, { placeOf, urgent }) {
    if (deliveries.length === 0) return 0;
    const endpointIds = deliveries.map(({ endpointId }) => endpointId);
    const there = new Set(yield* ask.events.selectReceivers(event.tenantId, endpointIds));
    const placed: PlacedDelivery[] = [];
    for (const delivery of deliveries) {
      const { id, endpointId, status, inHand = false } = delivery;
      if (!there.has(endpointId)) continue;
      const bodyId = yield* placeOf(delivery);
      placed.push({ id, endpointId, status, dueAt: dueAtOf(delivery, event), bodyId, inHand, urgent });
    }
    if (placed.length > 0) yield* ask.events.insertDeliveries(event, placed);
    return placed.length;
  };
}

/** Stores a delivery of an existing event; false if its endpoint is gone. */
function createDeliveryWriter(
  ask: Asks<EventStatements>,
): (event: EventRow, delivery: HeldDelivery, placeOf: PlaceOf) => Script<boolean> {
  const insertDeliveries = createDeliveriesWriter(ask);
  return function* (event, delivery, placeOf) {
    return (yield* insertDeliveries(event, [delivery], { placeOf, urgent: false })) === 1;
  };
}

/** Stores a notice: part of the change that causes it. There are none for subscriptions of MCP clients. */
export function createNoticeWriter(
  ask: Asks<EventStatements>,
): (notice: Omit<EndpointNotice, 'id'>) => Script<void> {
  return function* ({ tenantId, type, endpointId, facts }) {
    yield* ask.events.insertNotice(tenantId, type, JSON.stringify(facts), endpointId);
  };
}

interface DeadRow {
  tenantId: string;
  endpointId: string;
  event: EventType;
  event_id: string;
  subject_id: string;
  attempt_count: number;
}

/**
 * Stores the notice that a delivery ran out of retries: part of the change that causes it. A dead delivery of such an event causes
 * none, because two dead endpoints would cause notices about each other forever.
 */
export function createDeadNotices(
  ask: Asks<EventStatements>,
): (deliveryId: string, expiresAt: number) => Script<void> {
  const add = createNoticeWriter(ask);

  return function* (deliveryId, expiresAt) {
    const row = yield* ask.events.selectDead(deliveryId);
    if (row === undefined || isOperational(row.event)) return;
    const { tenantId, endpointId, ...told } = row;
    const facts = { delivery_id: deliveryId, ...told, expires_at: new Date(expiresAt).toISOString() };
    yield* add({ tenantId, type: 'delivery.dead', endpointId, facts });
  };
}

export function noticeChanges(ask: Asks<EventStatements>) {
  const insertRouted = createEventWriter(ask);

  return {
    *commitNotices({ tenantId, ids, events }) {
      const list = JSON.stringify(ids);
      if ((yield* ask.events.countNotices(list, tenantId)) !== ids.length) return false;
      yield* ask.events.removeNotices(list);
      for (const each of events) yield* insertRouted(each);
      return true;
    },
  } satisfies Scripts<NoticeStore>;
}

/**
 * Gives deliveries stored after their event their own positions in commit order: part of the change that stores them. One statement for
 * all: on PostgreSQL, each with a result is a round trip, during which other nodes wait for what the transaction locks.
 */
function createLatePlaces(
  ask: Asks<EventStatements>,
): (tenantId: string, deliveryIds: readonly string[], now: number) => Script<void> {
  return function* (tenantId, deliveryIds, now) {
    if (deliveryIds.length > 0) yield* ask.events.insertLateDeliveries(tenantId, now, deliveryIds);
  };
}

/** An event's deliveries after a given one, by id, including those of batched messages that contain the event. */
export interface EventDeliveries {
  eventId: string;
  batches: readonly string[];
  after: string;
}

/** Erases a person from events and deliveries, whose rows stay for the counts: parts of an erasure. */
export function createEventEraser(ask: Asks<EventStatements>) {
  const leaveBatches = createBatchEraser(ask);
  const bodies = createBodies(ask);

  return {
    about: (subjectIds: readonly string[]): Script<string[]> =>
      ask.events.selectAbout(JSON.stringify(subjectIds)),
    /** Empties an event; returns its deliveries, to be erased too, or null if there is no such event. */
    *erase(tenantId: string, eventId: string): Script<EventDeliveries | null> {
      if (!(yield* ask.events.emptyEvent(ERASED_DATA, eventId, tenantId))) return null;
      return { eventId, batches: yield* leaveBatches(eventId), after: '' };
    },
    /** Erases some of them; returns their number, the remaining ones, and the endpoints of pending ones. */
    *eraseDeliveries(
      of: EventDeliveries,
      limit: number,
    ): Script<{ count: number; endpointIds: string[]; next: EventDeliveries | null }> {
      const { eventId, batches, after } = of;
      const found = yield* ask.events.selectDeliveries(eventId, JSON.stringify(batches), after, limit);
      for (const { id } of found) {
        yield* ask.events.discard(id);
        yield* ask.events.emptyReplies(id);
      }
      yield* bodies.remove(found.map(({ id }) => id));
      const last = found.at(-1);
      return {
        count: found.length,
        endpointIds: found.flatMap(({ endpoint_id, waits }) => (waits === 1 ? [endpoint_id] : [])),
        next: last === undefined || found.length < limit ? null : { ...of, after: last.id },
      };
    },
    /** Invalidates what was claimed ahead for these endpoints. */
    *renewEndpoints(ids: Iterable<string>): Script<void> {
      for (const id of ids) yield* ask.events.renewEndpoint(id);
    },
  };
}

export function backfillChanges(ask: Asks<EventStatements>) {
  const bodies = createBodies(ask);
  const insertDelivery = createDeliveryWriter(ask);
  const addPlaces = createLatePlaces(ask);

  return {
    *commitBackfill({ tenantId, endpointId, position, next, isLast, items, now }) {
      const step = { tenantId, endpointId, position, next, isLast: isLast ? 1 : 0 };
      // They may include one to this endpoint.
      for (const { event } of items)
        if ((yield* ask.events.selectRemaining(event.id)) !== undefined) return false;
      if (!(yield* ask.events.advanceBackfill(step))) return false;
      const stored: string[] = [];
      for (const { event, delivery } of items) {
        // Stored after the event was read.
        const { id, createdAt } = event;
        if ((yield* ask.events.selectRouted(endpointId, createdAt, id, endpointId, id)) !== undefined)
          continue;
        // Created now: it is due now, and its log is kept from now on.
        const placeOf = bodies.createPlaces(tenantId);
        if (yield* insertDelivery({ ...event, createdAt: now }, delivery, placeOf)) stored.push(delivery.id);
      }
      yield* addPlaces(tenantId, stored, now);
      return true;
    },
  } satisfies Scripts<BackfillStore>;
}

/** Events that are sent in one message instead of one by one. */
export function batchChanges(ask: Asks<EventStatements>) {
  const bodies = createBodies(ask);
  const insertDelivery = createDeliveryWriter(ask);
  const addPlaces = createLatePlaces(ask);

  return {
    *commitBatch({ endpointId, tenantId, read, delivery, now }) {
      const { events, last, wires } = read;
      // A person may have been erased or redacted since it was read.
      const isAsRead =
        (yield* ask.events.countBatched(endpointId, last.id)) === events &&
        JSON.stringify(yield* ask.events.readBestOfBatch(endpointId, events, wires.length)) ===
          JSON.stringify(wires);
      if (!isAsRead) return false;
      const event = { ...last, tenantId, createdAt: now };
      if (!(yield* insertDelivery(event, delivery, bodies.createPlaces(tenantId)))) return false;
      yield* addPlaces(tenantId, [delivery.id], now);
      yield* ask.events.takeBatched(delivery.id, endpointId, last.id);
      return true;
    },
    dropBatched: (endpointId, limit) => ask.events.dropBatched(endpointId, limit),
  } satisfies Scripts<BatchStore>;
}

/** Removes an erased event from batched messages; returns the deliveries that contained it. Part of an erasure. */
function createBatchEraser(ask: Asks<EventStatements>): (eventId: string) => Script<string[]> {
  return function* (eventId) {
    const deliveryIds = (yield* ask.events.leaveBatches(eventId)).filter((id) => id !== null);
    for (const id of deliveryIds) {
      // If this message was not sent yet, the other events go into another one.
      if ((yield* ask.events.selectWaits(id)) !== undefined) yield* ask.events.releaseBatched(id);
    }
    return deliveryIds;
  };
}
