import type { AttemptLog, ClaimedDelivery, Outcome } from '../model/delivery.ts';
import type { Endpoint } from '../model/webhook.ts';
import type { DeliverySummary } from './delivery-log-store.ts';

/** A delivery that a process has already claimed, whose outcome is not stored yet. */
export interface HeldAttempt {
  id: string;
  attempt: number;
}

/**
 * How much a claim may give to one endpoint; `knownVersion` is the version of the caller's copy of the endpoint (-1:
 * none).
 */
export interface LaneDemand {
  endpointId: string;
  limit: number;
  knownVersion: number;
  /** Deliveries that it already holds, which are not claimed again. */
  held: HeldAttempt[];
  /**
   * The part of `limit` reserved for the longest waiting deliveries; the rest goes to urgent ones first. Omitted:
   * none.
   */
  oldest?: number;
}

/** The last retry of a part, in the order of the index. */
export interface RetryPlace {
  endpointId: string;
  bodyId: number;
}

export interface ShiftPart {
  now: number;
  deltaMs: number;
  /** Null for the first part. */
  after: RetryPlace | null;
  limit: number;
}

export interface ClaimRequest {
  lanes: LaneDemand[];
  /** Unix milliseconds; deliveries due by then are claimed. */
  now: number;
  /** Until then, no other process can claim deliveries of these endpoints; each claim renews it. */
  leaseUntil: number;
  /** The caller's token, the same for all its claims. */
  leaseToken: string;
  /**
   * For endpoints taken over from another process, also returns the times of attempts since then (Unix milliseconds).
   */
  recentSince?: number;
}

/**
 * Deliveries that a process reserves in the commit that stores them. It gets those of an endpoint that is active, has
 * the version known to the process, and is not leased to another process; the others wait for a claim.
 */
export interface Taking extends Omit<ClaimRequest, 'lanes'> {
  lanes: (Pick<LaneDemand, 'endpointId' | 'knownVersion'> & { deliveryIds: string[] })[];
  /** A lease of the caller that lasts until then is not renewed. */
  renewBefore: number;
}

/** The result of a claim for one endpoint. */
export interface LaneClaim {
  endpointId: string;
  /** Their bodies are consecutive parts of one buffer that contains nothing else. */
  deliveries: ClaimedDelivery[];
  /** When the next unclaimed delivery is due, or the lease of another process ends; null: none is waiting. */
  nextDueAt: number | null;
  /** Times of attempts by the process that held the lease before, ascending; omitted if it was not taken over. */
  recent?: number[];
  /** The endpoint if it is newer than the caller's copy; null: unchanged; `gone`: deleted or paused. */
  endpoint: Endpoint | null | 'gone';
}

/** A probe of a paused endpoint: the longest waiting delivery, whether due or not. */
export interface ProbeClaim {
  endpoint: Endpoint;
  delivery: ClaimedDelivery;
}

/** When an attempt to an endpoint started. */
export interface AttemptStart {
  endpointId: string;
  startedAt: number;
}

/** An endpoint with waiting deliveries, as the dispatcher finds it at startup and in its regular checks. */
export interface DueLane {
  endpointId: string;
  tenantId: string;
  nextDueAt: number;
}

/** A delivery with its attempts, oldest first. `body` is null if it is no longer stored. */
export interface DeliveryLog extends DeliverySummary {
  body: string | null;
  attempts: AttemptLog[];
}

/** A paused endpoint whose probe is due. */
export interface DueProbe {
  endpointId: string;
  tenantId: string;
}

/** Deliveries, from the claim to the outcome. */
export interface DeliveryStore {
  /**
   * Ends the leases of dead processes, and returns every active endpoint with waiting deliveries, by ID. `own`: also ends leases in
   * the name of this process, which has just started. Leases of live processes stay.
   */
  recoverDeliveries(options: { own: boolean }): Promise<DueLane[]>;
  /**
   * Whether leases of a dead process remain: its attempts count towards the throttle of the process that takes over.
   */
  hasDeparted(): Promise<boolean>;
  /** Every active endpoint with waiting deliveries, stored by this process or another, by ID. */
  listDueLanes(): Promise<DueLane[]>;
  claimDeliveries(request: ClaimRequest): Promise<LaneClaim[]>;
  /** Ends the leases of a process that is stopping. */
  releaseLeases(leaseToken: string): Promise<void>;
  /** False if that attempt was already counted or the delivery no longer waits: then only the attempt is stored. */
  recordOutcome(outcome: Outcome): Promise<boolean>;
  /** The trace that caused each of these deliveries, as `joinTrace` writes it; untraced ones are omitted. */
  tracesOf(deliveryIds: readonly string[]): Promise<[deliveryId: string, trace: string][]>;
  /** Paused endpoints with waiting deliveries whose next probe is due, longest due first, except those of some tenants. */
  listDueProbes(now: number, limit: number, exceptTenants?: readonly string[]): Promise<DueProbe[]>;
  /** Claims the delivery of a probe, under the same lease as a claim; null if there is nothing to probe. */
  claimProbe(
    request: Omit<ClaimRequest, 'lanes'> & Pick<LaneDemand, 'endpointId' | 'held'>,
  ): Promise<ProbeClaim | null>;
  /**
   * The machine's clock was set: moves planned probes and retries by `deltaMs`, and makes first attempts due that would
   * otherwise be in the future. Each call moves a part, about `limit` retries after the place that the previous one
   * returned; null: that was all. A retry that is planned meanwhile may be moved as well.
   */
  shiftDue(part: ShiftPart): Promise<RetryPlace | null>;
  /**
   * Start times of attempts after `since` by endpoint, in no order: what the throttle needs after a restart. A request that was sent
   * twice counts twice.
   */
  recentAttempts(since: number, now: number): Promise<Map<string, number[]>>;
  getDelivery(tenantId: string, id: string): Promise<DeliveryLog | null>;
  /** The same without body and attempts, which may have a megabyte. */
  findDelivery(tenantId: string, id: string): Promise<DeliverySummary | null>;
}
