import type { AttemptLog, ClaimedDelivery, Outcome } from '../model/delivery.ts';
import type { Endpoint } from '../model/webhook.ts';
import type { DeliverySummary } from './delivery-log-store.ts';

/** What a process already holds of an endpoint's deliveries: claimed, and without a stored outcome. */
export interface HeldAttempt {
  id: string;
  attempt: number;
}

/** How much one endpoint may be given by a claim; `knownVersion` is the caller's copy of the endpoint (-1: none). */
export interface LaneDemand {
  endpointId: string;
  limit: number;
  knownVersion: number;
  /** What it holds already, and is not given again. */
  held: HeldAttempt[];
  /** Of `limit`, places for what has waited longest; the others go to urgent deliveries first. Left out: none. */
  oldest?: number;
}

export interface ClaimRequest {
  lanes: LaneDemand[];
  /** Unix milliseconds; what is due at or before it is claimed. */
  now: number;
  /** Until then no other process is given deliveries of these endpoints; each claim renews it. */
  leaseUntil: number;
  /** The caller's own, the same for every claim of its life. */
  leaseToken: string;
  /** An endpoint that is taken over comes with the times of its attempts since then (Unix milliseconds). */
  recentSince?: number;
}

/**
 * Deliveries that a process takes in the commit which stores them. It gets those of an endpoint where that is active, at
 * the version that the process knows, and leased to nobody else; the others wait for a claim.
 */
export interface Taking extends Omit<ClaimRequest, 'lanes'> {
  lanes: (Pick<LaneDemand, 'endpointId' | 'knownVersion'> & { deliveryIds: string[] })[];
  /** A lease that the caller has until then is left as it is. */
  renewBefore: number;
}

/** One endpoint's part of a claim. */
export interface LaneClaim {
  endpointId: string;
  /** Their bodies lie one behind the other in one piece of memory, which holds nothing else. */
  deliveries: ClaimedDelivery[];
  /** When the next delivery that was not claimed is due, or the lease of another process ends; null: none waits. */
  nextDueAt: number | null;
  /** When attempts were made by the process that had it before, where it was taken over, ascending; left out: it was not. */
  recent?: number[];
  /** The endpoint, where it is newer than the caller's copy; null: unchanged; `gone`: deleted or paused. */
  endpoint: Endpoint | null | 'gone';
}

/** A probe of a paused endpoint: the delivery that has waited longest, planned for later or not. */
export interface ProbeClaim {
  endpoint: Endpoint;
  delivery: ClaimedDelivery;
}

/** An endpoint with waiting work, as the dispatcher finds it at start. */
export interface DueLane {
  endpointId: string;
  tenantId: string;
  nextDueAt: number;
}

/** A delivery with its attempts, oldest first. `body` is null where it is not kept any more. */
export interface DeliveryLog extends DeliverySummary {
  body: string | null;
  attempts: AttemptLog[];
}

/** Deliveries, from the claim to the outcome. */
export interface DeliveryStore {
  /**
   * Ends the leases of processes that are gone, and returns every endpoint with waiting work. `own`: those in the name of
   * this process too, as it has just begun. The leases of a process that lives stay.
   */
  recoverDeliveries(options: { own: boolean }): Promise<DueLane[]>;
  /** Whether a process is gone whose leases stand: what it sent counts for the throttle of who sends in its place. */
  hasDeparted(): Promise<boolean>;
  /** Every active endpoint with waiting work, stored by this process or another. */
  listDueLanes(): Promise<DueLane[]>;
  claimDeliveries(request: ClaimRequest): Promise<LaneClaim[]>;
  /** Ends the leases of a process that stops. */
  releaseLeases(leaseToken: string): Promise<void>;
  /** False where that attempt was counted already or nothing waits any more: then only the attempt is kept. */
  recordOutcome(outcome: Outcome): Promise<boolean>;
  /** The trace of what caused each of these deliveries, as `joinTrace` writes it, of those where something was traced. */
  tracesOf(deliveryIds: readonly string[]): Promise<[deliveryId: string, trace: string][]>;
  /** Paused endpoints whose next probe is due and for which something waits, the longest due first. */
  listDueProbes(now: number, limit: number): Promise<{ endpointId: string; tenantId: string }[]>;
  /** Takes what a probe sends, under the same lease as a claim; null where nothing is to be probed any more. */
  claimProbe(
    request: Omit<ClaimRequest, 'lanes'> & Pick<LaneDemand, 'endpointId' | 'held'>,
  ): Promise<ProbeClaim | null>;
  /**
   * The machine's clock was set: moves every planned retry and probe by `deltaMs`, and makes first attempts due that
   * would now lie in the future.
   */
  shiftDue(now: number, deltaMs: number): Promise<void>;
  /** Start times of the endpoint's attempts after `since`, ascending: what the throttle must remember over a restart. */
  recentAttempts(since: number, now: number): Promise<{ endpointId: string; startedAt: number }[]>;
  getDelivery(tenantId: string, id: string): Promise<DeliveryLog | null>;
}
