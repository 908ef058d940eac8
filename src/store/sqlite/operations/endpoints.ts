import type { Database } from 'better-sqlite3';
import type { Endpoint } from '../../../model/webhook.ts';
import type { ResumeStep } from '../../endpoint-store.ts';
import { createDeliverySql } from '../tables/deliveries.ts';
import { createEndpointPlanSql } from '../tables/endpoint-plan.ts';
import { createEndpointStateSql } from '../tables/endpoint-state.ts';
import { createEndpointSql } from '../tables/endpoints.ts';
import { nextProbeAt } from '../tables/probes.ts';

/** Deliveries discarded in the commit that deletes their endpoint; about 10 ms of the writer. Housekeeping does the rest. */
const DISCARDED_AT_ONCE = 1_000;

export function endpointOperations(db: Database) {
  const endpoints = createEndpointSql(db);
  const state = createEndpointStateSql(db);
  const plans = createEndpointPlanSql(db);
  const deliveries = createDeliverySql(db);

  return {
    createEndpoint: (endpoint: Endpoint, limit: number | null): boolean => endpoints.insert(endpoint, limit),
    updateEndpoint(endpoint: Endpoint, now: number): boolean {
      if (!endpoints.update(endpoint)) return false;
      state.planProbe(endpoint.id, endpoint.settings.auto_resume ? nextProbeAt(now, 0) : null);
      return true;
    },
    pauseEndpoint(tenantId: string, id: string, now: number): boolean {
      if (endpoints.get(tenantId, id) === null) return false;
      if (!state.pause(id, { reason: 'manual', now, probeAt: null })) state.holdByHand(id);
      return true;
    },
    resumeEndpoint(step: ResumeStep): 'resumed' | 'more' | 'active' | 'over_limit' | 'absent' {
      const { tenantId, id, now, endpointLimit, limit } = step;
      const endpoint = endpoints.get(tenantId, id);
      if (endpoint === null) return 'absent';
      if (endpoint.status === 'active') return 'active';
      if (!plans.hasRoom(tenantId, endpointLimit)) return 'over_limit';
      if (state.releaseRetries(id, now, limit) === limit) return 'more';
      state.activate(id, { clearFailures: true });
      return 'resumed';
    },
    deleteEndpoint(tenantId: string, id: string, now: number): boolean {
      if (!endpoints.markDeleted(tenantId, id, now)) return false;
      deliveries.discardWaiting(id, DISCARDED_AT_ONCE);
      return true;
    },
  };
}
