import type { Database } from 'better-sqlite3';
import type { Outcome } from '../../../model/delivery.ts';
import type { Endpoint } from '../../../model/webhook.ts';
import type { ClaimRequest, DueLane, LaneClaim, LaneDemand } from '../../delivery-store.ts';
import { createAttemptSql, type StoredAttempt } from '../tables/attempts.ts';
import { createEndpointSql } from '../tables/endpoints.ts';
import { createErasureSql } from '../tables/erasure.ts';
import { createLeaseSql, type StoredDeliveries } from '../tables/leases.ts';
import { createProbeScheduleSql } from '../tables/probes.ts';
import { createEndpointHealth } from './endpoint-health.ts';

/** An outcome with its attempt as the table holds it, so that what crosses to the writer is flat and small. */
export interface StoredOutcome extends Omit<Outcome, 'attempt'> {
  attempt: StoredAttempt;
}

/** The most common outcome, flat: delivery, attempt, its number, start, duration and detail. */
export type DeliveredTuple = [string, string, number, number, number, string];

/** A claim's answer as it crosses from the writer. */
export interface StoredLaneClaim extends Omit<LaneClaim, 'deliveries' | 'release'> {
  deliveries: StoredDeliveries | null;
}

/** As {@link StoredLaneClaim}, of a probe. */
export interface StoredProbe {
  endpoint: Endpoint;
  delivery: StoredDeliveries;
}

/** A claim whose lanes say what they hold as a JSON object, `{delivery id: attempt}`: one text crosses to the writer. */
export interface StoredClaim extends Omit<ClaimRequest, 'lanes'> {
  lanes: (Omit<LaneDemand, 'held'> & { held: string })[];
}

/** As {@link StoredClaim}, of one delivery of one endpoint. */
export interface StoredProbeClaim extends Omit<ClaimRequest, 'lanes'> {
  endpointId: string;
  held: string;
}

export function deliveryOperations(db: Database) {
  const leases = createLeaseSql(db);
  const attempts = createAttemptSql(db);
  const endpoints = createEndpointSql(db);
  const erasure = createErasureSql(db);
  const probes = createProbeScheduleSql(db);
  const settleHealth = createEndpointHealth(db);

  return {
    recoverDeliveries(): DueLane[] {
      leases.releaseAll();
      return leases.lanes();
    },
    releaseLeases: (leaseToken: string): void => leases.release(leaseToken),
    claimDeliveries: ({ lanes, ...terms }: StoredClaim): StoredLaneClaim[] =>
      lanes.map(({ endpointId, limit, knownVersion, held }) => {
        const endpoint = endpoints.changedSince(endpointId, knownVersion);
        if (endpoint === 'gone') return { endpointId, deliveries: null, nextDueAt: null, endpoint };
        const { deliveries, nextDueAt } = leases.claim({ endpointId, limit, held, ...terms });
        return { endpointId, deliveries, nextDueAt, endpoint };
      }),
    claimProbe({ endpointId, held, ...terms }: StoredProbeClaim): StoredProbe | null {
      if (!probes.isDue(endpointId, terms.now)) return null;
      const endpoint = endpoints.getById(endpointId);
      const delivery = leases.claimOldest({ endpointId, held, ...terms });
      return endpoint === null || delivery === null ? null : { endpoint, delivery };
    },
    /** An attempt that succeeded, of a delivery that probed nothing, to an endpoint without failures to forget. */
    recordDelivered(...[deliveryId, id, attempt, startedAt, durationMs, detail]: DeliveredTuple): boolean {
      attempts.insert(deliveryId, { id, attempt, startedAt, durationMs, detail });
      const applied = leases.finishDelivered(deliveryId, attempt);
      if (!applied) erasure.emptyRepliesOfErased(deliveryId);
      return applied;
    },
    recordOutcome({ attempt, next, ...outcome }: StoredOutcome): boolean {
      const { deliveryId, probe } = outcome;
      attempts.insert(deliveryId, attempt);
      const applied = leases.finish(deliveryId, attempt.attempt, {
        next,
        spares: probe && next.status === 'retrying',
      });
      if (applied) settleHealth(outcome);
      else erasure.emptyRepliesOfErased(deliveryId);
      return applied;
    },
    shiftDue(now: number, deltaMs: number): void {
      leases.shiftDue(now, deltaMs);
      probes.shift(deltaMs);
    },
  };
}
