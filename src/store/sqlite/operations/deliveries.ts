import type { Database } from 'better-sqlite3';
import type { DeliveryNext, Outcome } from '../../../model/delivery.ts';
import type { ClaimRequest, DueLane, LaneClaim, LaneDemand } from '../../delivery-store.ts';
import { createAttemptSql, type StoredAttempt } from '../tables/attempts.ts';
import { createEndpointSql } from '../tables/endpoints.ts';
import { createErasureSql } from '../tables/erasure.ts';
import { createLeaseSql } from '../tables/leases.ts';

/** An outcome with its attempt as the table holds it, so that what crosses to the writer is flat and small. */
export interface StoredOutcome {
  deliveryId: string;
  endpointId: string;
  attempt: StoredAttempt;
  next: DeliveryNext;
  streak: Outcome['streak'];
}

/** A claim whose lanes say what they hold as a JSON object, `{delivery id: attempt}`: one text crosses to the writer. */
export interface StoredClaim extends Omit<ClaimRequest, 'lanes'> {
  lanes: (Omit<LaneDemand, 'held'> & { held: string })[];
}

export function deliveryOperations(db: Database) {
  const leases = createLeaseSql(db);
  const attempts = createAttemptSql(db);
  const endpoints = createEndpointSql(db);
  const erasure = createErasureSql(db);

  return {
    recoverDeliveries(): DueLane[] {
      leases.releaseAll();
      return leases.lanes();
    },
    releaseLeases: (leaseToken: string): void => leases.release(leaseToken),
    claimDeliveries: ({ lanes, ...terms }: StoredClaim): LaneClaim[] =>
      lanes.map(({ endpointId, limit, knownVersion, held }) => {
        const endpoint = endpoints.changedSince(endpointId, knownVersion);
        if (endpoint === 'gone') return { endpointId, deliveries: [], nextDueAt: null, endpoint };
        return { endpointId, ...leases.claim({ endpointId, limit, held, ...terms }), endpoint };
      }),
    recordOutcome({ deliveryId, endpointId, attempt, next, streak }: StoredOutcome): boolean {
      attempts.insert(deliveryId, attempt);
      const applied = leases.finish(deliveryId, attempt.attempt, next);
      if (applied) endpoints.applyStreak(endpointId, streak);
      else erasure.emptyRepliesOfErased(deliveryId);
      return applied;
    },
  };
}
