import type { Endpoint } from '../../model/webhook.ts';
import type {
  ClaimRequest,
  LaneClaim,
  LaneDemand,
  RetryPlace,
  ShiftPart,
  Taking,
} from '../delivery-store.ts';
import type { Asks, Script } from '../script.ts';
import type { CommittedSignal, NewSignal } from '../signal-store.ts';
import type { EndpointStatements } from './endpoints.ts';
import type { SignalChanges } from './signals.ts';

export interface ClaimStatements extends EndpointStatements {
  claims: {
    selectLease(endpointId: string): LeaseRow | undefined;
    writeLease(
      endpointId: string,
      leaseToken: string,
      leaseUntil: number,
      held: string,
      process: string,
    ): void;
    deleteLeases(leaseToken: string): void;
    selectDue(endpointId: string, now: number, held: string, limit: number): DueRow | undefined;
    /** Urgent ones, and those that are not. */
    selectUrgent(endpointId: string, now: number, held: string, limit: number): DueRow | undefined;
    selectOther(endpointId: string, now: number, held: string, limit: number): DueRow | undefined;
    selectOldest(endpointId: string, held: string, limit: number): DueRow | undefined;
    selectOneDue(endpointId: string, id: string, limit: number): DueRow | undefined;
    selectFirstRetried(endpointId: string): HeadRow | undefined;
    selectFirstPending(endpointId: string): HeadRow | undefined;
    /** Whether the tenant's deliveries of an event before that of this delivery are not all stored yet. */
    selectEarlierRemainder(deliveryId: string): number | undefined;
    selectLeftDue(endpointId: string, now: number, held: string): number | undefined;
    selectNextDue(endpointId: string, now: number): number | undefined;
    selectLastRetry(endpointId: string, bodyId: number, limit: number): RetryPlace | undefined;
    shiftRetries(
      deltaMs: number,
      endpointId: string,
      bodyId: number,
      lastEndpointId: string,
      lastBodyId: number,
    ): void;
    pullFirstAttempts(now: number, later: number, limit: number): number;
    selectActiveVersion(endpointId: string): { version: number; ordered: number } | undefined;
    selectById(id: string): Endpoint | null;
    selectUnready(row: Record<string, unknown>): { endpointId: string; refused: 0 | 1 }[];
    renewLease(endpointId: string, leaseToken: string, leaseUntil: number, process: string): void;
  };
}

/**
 * The maximum bytes of bodies that one claim reads, because others wait for the writer in the meantime. The remaining
 * deliveries are still due for the next claim; a lane's own limit bounds how far the last one exceeds this.
 */
const MOST_BYTES = 4_194_304;
/** How long an endpoint with ordered delivery waits for deliveries of earlier events to be stored, before it looks again. */
const REMAINDER_MS = 1_000;

/** Deliveries of one endpoint, oldest first, as one row: passing one row each costs several times as much. */
export interface DueRow {
  count: number;
  /** {@link StoredDeliveries.list} without its brackets; null if nothing is due. */
  list: string | null;
  held: string | null;
  bodies: Uint8Array | null;
}

/** Claimed deliveries in messages from the writer. */
export interface StoredDeliveries {
  /**
   * A JSON array with five values per delivery: ID, event type, attempt, attempts in this cycle, and bytes of its
   * body.
   */
  list: string;
  /**
   * Their bodies, concatenated. A lost body has no bytes: its delivery is returned, so that it can be ended with that
   * reason.
   */
  bodies: Uint8Array;
}

/** The result of a claim in messages from the writer. */
export interface StoredLaneClaim extends Omit<LaneClaim, 'deliveries' | 'recent'> {
  deliveries: StoredDeliveries | null;
  /** The deliveries that the previous process held, as JSON, if the endpoint was taken over. */
  takenFrom?: string;
}

/** Like {@link StoredLaneClaim}, for a probe. */
export interface StoredProbe {
  endpoint: Endpoint;
  delivery: StoredDeliveries;
}

/** The holder of a lease, including its process, by which others find out whether it is alive. */
export interface LeaseTerms extends Omit<ClaimRequest, 'lanes' | 'recentSince'> {
  process: string;
}

/**
 * A claim whose lanes list held deliveries as a JSON object, `{delivery id: attempt}`: the message to the writer is
 * one text.
 */
export interface StoredClaim extends LeaseTerms {
  lanes: (Omit<LaneDemand, 'held'> & { held: string })[];
}

/** Like {@link StoredClaim}, for one delivery of one endpoint. */
export interface StoredProbeClaim extends LeaseTerms {
  endpointId: string;
  held: string;
}

/** The next delivery to an endpoint with ordered delivery. */
export interface HeadRow {
  id: string;
  dueAt: number;
}

interface LeaseRow {
  endpoint_id: string;
  token: string;
  until: number;
  held: string;
}

type LaneTerms = StoredProbeClaim & { limit: number; oldest: number };
type Claimed = Pick<StoredLaneClaim, 'deliveries' | 'nextDueAt' | 'takenFrom'>;

/**
 * Claims. A claim leases the endpoint, not each delivery: a claimed delivery is unchanged until its outcome, which is
 * fenced by the number of the attempt.
 */
export function claimChanges(ask: Asks<ClaimStatements>) {
  /** The state of the endpoint for the claim's caller. */
  function* changedSince(id: string, version: number, knownVersion: number): Script<LaneClaim['endpoint']> {
    if (version === knownVersion) return null;
    try {
      return (yield* ask.claims.selectById(id)) ?? 'gone';
    } catch {
      return 'gone'; // its settings are unreadable, which must not fail the claim of every other endpoint
    }
  }

  /**
   * The endpoint's lease, and what another process held before. Of an ended lease (`until` is 0), only what it held
   * is returned.
   */
  function* leaseOf(
    endpointId: string,
    leaseToken: string,
  ): Script<{ lease: LeaseRow | undefined; before: Pick<StoredLaneClaim, 'takenFrom'> }> {
    const row = yield* ask.claims.selectLease(endpointId);
    return {
      lease: row?.until === 0 ? undefined : row,
      before: row === undefined || row.token === leaseToken ? {} : { takenFrom: row.held },
    };
  }

  /** The first waiting delivery in the order of events: if it is being retried, the others wait behind it. */
  function* headOf(endpointId: string): Script<HeadRow | undefined> {
    return (
      (yield* ask.claims.selectFirstRetried(endpointId)) ?? (yield* ask.claims.selectFirstPending(endpointId))
    );
  }

  /** Whether an earlier event may have a delivery to the same endpoint that is stored later, after the end of a process for example. */
  function* isAhead({ id }: HeadRow): Script<boolean> {
    return (yield* ask.claims.selectEarlierRemainder(id)) !== undefined;
  }

  /** For an endpoint with ordered delivery: its first delivery, if it is due and none is in progress. */
  function* selectInOrder({ endpointId, limit, held, now }: LaneTerms): Script<{
    row: DueRow | undefined;
    waitsUntil: number | null;
  }> {
    const head = limit > 0 && held === '{}' ? yield* headOf(endpointId) : undefined;
    if (head === undefined) return { row: undefined, waitsUntil: null };
    if (head.dueAt > now) return { row: undefined, waitsUntil: head.dueAt };
    if (yield* isAhead(head)) return { row: undefined, waitsUntil: now + REMAINDER_MS };
    return { row: yield* ask.claims.selectOneDue(endpointId, head.id, 1), waitsUntil: null };
  }

  /** The delivery for a probe, due or not; none if one is in progress. */
  function* selectHead(endpointId: string, held: string): Script<DueRow | undefined> {
    const head = held === '{}' ? yield* headOf(endpointId) : undefined;
    if (head === undefined || (yield* isAhead(head))) return undefined;
    return yield* ask.claims.selectOneDue(endpointId, head.id, 1);
  }

  function* claimInOrder(terms: LaneTerms): Script<Claimed> {
    const { endpointId, held, now, leaseUntil, leaseToken, process } = terms;
    const { lease, before } = yield* leaseOf(endpointId, leaseToken);
    if (lease !== undefined && lease.token !== leaseToken && lease.until > now) {
      return { deliveries: null, nextDueAt: lease.until };
    }
    const { row, waitsUntil } = yield* selectInOrder(terms);
    const given = heldWith(held, row?.held ?? null);
    const next =
      waitsUntil ??
      (yield* ask.claims.selectLeftDue(endpointId, now, given)) ??
      (yield* ask.claims.selectNextDue(endpointId, now));
    if (given !== held || lease !== undefined)
      yield* ask.claims.writeLease(endpointId, leaseToken, leaseUntil, given, process);
    return { deliveries: toStored(row), nextDueAt: next ?? null, ...before };
  }

  function* claimDue(terms: LaneTerms): Script<Claimed> {
    const { endpointId, limit, oldest, held, now, leaseUntil, leaseToken, process } = terms;
    const { lease, before } = yield* leaseOf(endpointId, leaseToken);
    if (lease !== undefined && lease.token !== leaseToken && lease.until > now) {
      return { deliveries: null, nextDueAt: lease.until };
    }
    const mostUrgent = limit - oldest;
    const urgent = yield* ask.claims.selectUrgent(endpointId, now, held, mostUrgent);
    const withUrgent = heldWith(held, urgent?.held ?? null);
    const count = urgent?.count ?? 0;
    // If there was room for all urgent ones, the rest are others; if not, the rest are the oldest of both.
    const select = count < mostUrgent ? ask.claims.selectOther : ask.claims.selectDue;
    const others = count < limit ? yield* select(endpointId, now, withUrgent, limit - count) : undefined;
    const given = heldWith(withUrgent, others?.held ?? null);
    const row = together(urgent, others);
    const isFull = count + (others?.count ?? 0) === limit;
    const left = isFull ? yield* ask.claims.selectLeftDue(endpointId, now, given) : undefined;
    const nextDueAt = left ?? (yield* ask.claims.selectNextDue(endpointId, now)) ?? null;
    if (given !== held || lease !== undefined) {
      yield* ask.claims.writeLease(endpointId, leaseToken, leaseUntil, given, process);
    }
    return { deliveries: toStored(row), nextDueAt, ...before };
  }

  return {
    releaseLeases: (leaseToken: string): Script<void> => ask.claims.deleteLeases(leaseToken),
    *claimLanes({ lanes, ...terms }: StoredClaim): Script<StoredLaneClaim[]> {
      let bytes = 0;
      const claims: StoredLaneClaim[] = [];
      for (const { endpointId, limit: asked, knownVersion, held, oldest = 0 } of lanes) {
        const current = yield* ask.claims.selectActiveVersion(endpointId);
        const endpoint =
          current === undefined ? 'gone' : yield* changedSince(endpointId, current.version, knownVersion);
        if (current === undefined || endpoint === 'gone') {
          claims.push({ endpointId, deliveries: null, nextDueAt: null, endpoint: 'gone' });
          continue;
        }
        const limit = bytes < MOST_BYTES ? asked : 0;
        const claimOne = current.ordered === 1 ? claimInOrder : claimDue;
        const claimed = yield* claimOne({
          endpointId,
          limit,
          oldest: Math.min(oldest, limit),
          held,
          ...terms,
        });
        bytes += claimed.deliveries?.bodies.length ?? 0;
        claims.push({ endpointId, endpoint, ...claimed });
      }
      return claims;
    },
    /**
     * Claims the longest waiting delivery, due or not, under a lease like a claim's; null if there is nothing to
     * probe.
     */
    *claimOldest({
      endpointId,
      held,
      now,
      leaseUntil,
      leaseToken,
      process,
    }: StoredProbeClaim): Script<StoredProbe | null> {
      if ((yield* ask.endpoints.isProbeDue(endpointId, now)) === undefined) return null;
      const lease = yield* ask.claims.selectLease(endpointId);
      if (lease !== undefined && lease.token !== leaseToken && lease.until > now) return null;
      const endpoint = yield* ask.claims.selectById(endpointId);
      const row =
        endpoint?.ordered === true
          ? yield* selectHead(endpointId, held)
          : yield* ask.claims.selectOldest(endpointId, held, 1);
      const delivery = toStored(row);
      if (endpoint === null || delivery === null) return null;
      yield* ask.claims.writeLease(
        endpointId,
        leaseToken,
        leaseUntil,
        heldWith(held, row?.held ?? null),
        process,
      );
      return { endpoint, delivery };
    },
    *shiftDue({ now, deltaMs, after, limit }: ShiftPart): Script<RetryPlace | null> {
      if (after === null) yield* ask.endpoints.shiftProbes(deltaMs);
      // Retries without a body are not moved: their claim ends them.
      const { endpointId, bodyId } = after ?? BEFORE_ALL;
      const last = yield* ask.claims.selectLastRetry(endpointId, bodyId, limit);
      if (last === undefined) {
        const pulled = yield* ask.claims.pullFirstAttempts(now, now, limit);
        return pulled === limit ? { endpointId, bodyId } : null;
      }
      yield* ask.claims.shiftRetries(deltaMs, endpointId, bodyId, last.endpointId, last.bodyId);
      return last;
    },
  };
}

const BEFORE_ALL: RetryPlace = { endpointId: '', bodyId: -1 };

/** The deliveries of one claim, urgent ones first. */
function together(urgent: DueRow | undefined, others: DueRow | undefined): DueRow | undefined {
  if (urgent === undefined || urgent.list === null || urgent.bodies === null) return others;
  if (others === undefined || others.list === null || others.bodies === null) return urgent;
  return {
    count: urgent.count + others.count,
    list: `${urgent.list},${others.list}`,
    held: `${urgent.held},${others.held}`,
    bodies: joined(urgent.bodies, others.bodies),
  };
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function toStored(row: DueRow | undefined): StoredDeliveries | null {
  if (row === undefined || row.list === null || row.bodies === null) return null;
  return { list: `[${row.list}]`, bodies: row.bodies };
}

/** Concatenates JSON: IDs need no escaping, and parsing what the caller holds would cost more than the claim. */
export function heldWith(held: string, more: string | null): string {
  if (more === null) return held;
  return held === '{}' ? `{${more}}` : `${held.slice(0, -1)},${more}}`;
}

/** A reservation in messages to the writer. */
export interface StoredTaking extends Omit<Taking, 'lanes' | 'recentSince'> {
  /** JSON: `{endpoint id: version known to the caller}`. */
  lanes: string;
  process: string;
  /**
   * Only endpoints that are already leased to the caller: it does not know how fast others have been sending to the
   * rest.
   */
  ownOnly?: boolean;
}

/** Deliveries that a process reserves in the commit that stores them. */
export function inHandChanges(
  ask: Asks<ClaimStatements>,
  { commitSignals }: Pick<SignalChanges, 'commitSignals'>,
) {
  return {
    /** `refused` are the endpoints whose deliveries wait for a claim. */
    *commitSignalsHeld(
      signals: NewSignal[],
      { lanes, now, leaseUntil, renewBefore, leaseToken, process, ownOnly = false }: StoredTaking,
    ): Script<{ committed: CommittedSignal[]; refused: string[] }> {
      const unready = yield* ask.claims.selectUnready({ lanes, now, renewBefore, leaseToken, ownOnly });
      for (const { endpointId, refused } of unready) {
        if (refused === 0) yield* ask.claims.renewLease(endpointId, leaseToken, leaseUntil, process);
      }
      const refused = unready.flatMap((lane) => (lane.refused === 1 ? [lane.endpointId] : []));
      return { committed: yield* commitSignals(signals), refused };
    },
  };
}
