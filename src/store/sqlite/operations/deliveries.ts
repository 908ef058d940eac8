import type { Database } from 'better-sqlite3';
import type { DeliveryNext, Outcome } from '../../../model/delivery.ts';
import type { ClaimRequest, DueLane, LaneClaim } from '../../delivery-store.ts';
import { createAttemptSql, type StoredAttempt } from '../tables/attempts.ts';
import { createEndpointSql } from '../tables/endpoints.ts';
import { createLeaseSql } from '../tables/leases.ts';

/** An outcome with its attempt as the table holds it, so that what crosses to the writer is flat and small. */
export interface StoredOutcome {
  deliveryId: string;
  endpointId: string;
  leaseToken: string;
  attempt: StoredAttempt;
  next: DeliveryNext;
  streak: Outcome['streak'];
}

export function deliveryOperations(db: Database) {
  const leases = createLeaseSql(db);
  const attempts = createAttemptSql(db);
  const endpoints = createEndpointSql(db);

  return {
    recoverDeliveries(now: number): DueLane[] {
      leases.releaseAll(now);
      return leases.lanes();
    },
    claimDeliveries: ({ lanes, ...terms }: ClaimRequest): LaneClaim[] =>
      lanes.map((lane) => {
        const { endpointId, knownVersion } = lane;
        const endpoint = endpoints.changedSince(endpointId, knownVersion);
        if (endpoint === 'gone') return { endpointId, deliveries: [], nextDueAt: null, endpoint };
        return { endpointId, ...leases.claim(lane, terms), endpoint };
      }),
    recordOutcome({ deliveryId, endpointId, leaseToken, attempt, next, streak }: StoredOutcome): boolean {
      attempts.insert(deliveryId, attempt);
      const applied = leases.finish(deliveryId, leaseToken, next);
      if (applied) endpoints.applyStreak(endpointId, streak);
      return applied;
    },
  };
}
