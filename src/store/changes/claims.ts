import type { Endpoint } from '../../model/webhook.ts';
import type { ClaimRequest, LaneClaim, LaneDemand, Taking } from '../delivery-store.ts';
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
    selectUrgent(endpointId: string, now: number, held: string, limit: number): DueRow | undefined;
    selectOldest(endpointId: string, held: string, limit: number): DueRow | undefined;
    selectOneDue(endpointId: string, id: string, limit: number): DueRow | undefined;
    selectFirstRetried(endpointId: string): HeadRow | undefined;
    selectFirstPending(endpointId: string): HeadRow | undefined;
    selectLeftDue(endpointId: string, now: number, held: string): number | undefined;
    selectNextDue(endpointId: string, now: number): number | undefined;
    shiftRetries(deltaMs: number): void;
    pullFirstAttempts(now: number, later: number): void;
    selectActiveVersion(endpointId: string): { version: number; ordered: number } | undefined;
    selectById(id: string): Endpoint | null;
    selectUnready(row: Record<string, unknown>): { endpointId: string; refused: 0 | 1 }[];
    renewLease(endpointId: string, leaseToken: string, leaseUntil: number, process: string): void;
  };
}

/**
 * Bytes of bodies that one claim reads: those who wait for the writer wait for it. What comes after is due still, for the
 * next claim; a lane's own limit bounds what the last of them adds.
 */
const MOST_BYTES = 4_194_304;

/** Deliveries of one endpoint, oldest first, in one row: a row each costs several times as much to pass on. */
interface DueRow {
  count: number;
  /** {@link StoredDeliveries.list} without its brackets; null where nothing is due. */
  list: string | null;
  held: string | null;
  bodies: Uint8Array | null;
}

/** What a claim gives out, as it crosses from the writer. */
export interface StoredDeliveries {
  /** A JSON array: id, type of the event, attempt, attempts in this cycle and bytes of the body of each in turn. */
  list: string;
  /** Their bodies, one behind the other. A lost one has no bytes: its delivery is given out, so that it ends with its reason. */
  bodies: Uint8Array;
}

/** A claim's answer as it crosses from the writer. */
export interface StoredLaneClaim extends Omit<LaneClaim, 'deliveries' | 'recent'> {
  deliveries: StoredDeliveries | null;
  /** What the process before held, as JSON, where the endpoint was taken over. */
  takenFrom?: string;
}

/** As {@link StoredLaneClaim}, of a probe. */
export interface StoredProbe {
  endpoint: Endpoint;
  delivery: StoredDeliveries;
}

/** Whose lease it is: the process as others find out whether it lives. */
export interface LeaseTerms extends Omit<ClaimRequest, 'lanes' | 'recentSince'> {
  process: string;
}

/** A claim whose lanes say what they hold as a JSON object, `{delivery id: attempt}`: one text crosses to the writer. */
export interface StoredClaim extends LeaseTerms {
  lanes: (Omit<LaneDemand, 'held'> & { held: string })[];
}

/** As {@link StoredClaim}, of one delivery of one endpoint. */
export interface StoredProbeClaim extends LeaseTerms {
  endpointId: string;
  held: string;
}

/** The delivery that is sent next to an endpoint which is sent one after the other. */
interface HeadRow {
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
 * Claims. One leases the endpoint, not each delivery: a claimed delivery stays as it is until its outcome, whose fence is
 * the number of the attempt.
 */
export function claimChanges(ask: Asks<ClaimStatements>) {
  /** What a claim tells its caller about the endpoint. */
  function* changedSince(id: string, version: number, knownVersion: number): Script<LaneClaim['endpoint']> {
    if (version === knownVersion) return null;
    try {
      return (yield* ask.claims.selectById(id)) ?? 'gone';
    } catch {
      return 'gone'; // its settings are unreadable: that must not end the claim of every other endpoint
    }
  }

  /**
   * Its lease, and what another process held before. A lease that was ended (`until` is 0) is none, but for what was held under it.
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

  /** The first in the order of events of all that wait: one that is retried, as the others then wait behind it. */
  function* headOf(endpointId: string): Script<HeadRow | undefined> {
    return (
      (yield* ask.claims.selectFirstRetried(endpointId)) ?? (yield* ask.claims.selectFirstPending(endpointId))
    );
  }

  /** Of an endpoint that is sent one after the other: its first delivery, where none is on its way and it is due. */
  function* selectInOrder({ endpointId, limit, held, now }: LaneTerms): Script<{
    row: DueRow | undefined;
    waitsUntil: number | null;
  }> {
    const head = limit > 0 && held === '{}' ? yield* headOf(endpointId) : undefined;
    if (head === undefined) return { row: undefined, waitsUntil: null };
    if (head.dueAt > now) return { row: undefined, waitsUntil: head.dueAt };
    return { row: yield* ask.claims.selectOneDue(endpointId, head.id, 1), waitsUntil: null };
  }

  /** As a probe sends it, due or not; nothing where one is on its way. */
  function* selectHead(endpointId: string, held: string): Script<DueRow | undefined> {
    const head = held === '{}' ? yield* headOf(endpointId) : undefined;
    return head === undefined ? undefined : yield* ask.claims.selectOneDue(endpointId, head.id, 1);
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
    const urgent = yield* ask.claims.selectUrgent(endpointId, now, held, limit - oldest);
    const withUrgent = heldWith(held, urgent?.held ?? null);
    const others = yield* ask.claims.selectDue(endpointId, now, withUrgent, limit - (urgent?.count ?? 0));
    const given = heldWith(withUrgent, others?.held ?? null);
    const row = together(urgent, others);
    const left = row?.count === limit ? yield* ask.claims.selectLeftDue(endpointId, now, given) : undefined;
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
    /** The delivery that has waited longest, due or not, under a lease like a claim's; null where none is to be probed. */
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
    *shiftDue(now: number, deltaMs: number): Script<void> {
      yield* ask.claims.shiftRetries(deltaMs);
      yield* ask.claims.pullFirstAttempts(now, now);
      yield* ask.endpoints.shiftProbes(deltaMs);
    },
  };
}

/** One claim's deliveries, the urgent first. */
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

/** JSON put together as text: ids need no escaping, and parsing what the caller holds would cost more than the claim. */
export function heldWith(held: string, more: string | null): string {
  if (more === null) return held;
  return held === '{}' ? `{${more}}` : `${held.slice(0, -1)},${more}}`;
}

/** As it crosses to the writer. */
export interface StoredTaking extends Omit<Taking, 'lanes' | 'recentSince'> {
  /** JSON: `{id of an endpoint: the version that the caller knows}`. */
  lanes: string;
  process: string;
  /** Only endpoints that are the caller's already: of others it does not know how fast they were sent to. */
  ownOnly?: boolean;
}

/** Deliveries that a process takes in the commit which stores them. */
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
