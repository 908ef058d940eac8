import type { Database } from 'better-sqlite3';
import type { Outcome } from '../../../model/delivery.ts';
import { createEndpointStateSql } from '../tables/endpoint-state.ts';
import { createEndpointSql } from '../tables/endpoints.ts';
import { createProbeScheduleSql, nextProbeAt } from '../tables/probes.ts';

/** Failed attempts in a row that pause an endpoint (specification, section 3). */
const PAUSE_AT_FAILURES = 20;

/** What an outcome that counts does to its endpoint, as part of the same commit. */
export function createEndpointHealth(db: Database): (outcome: Omit<Outcome, 'attempt' | 'next'>) => void {
  const endpoints = createEndpointSql(db);
  const state = createEndpointStateSql(db);
  const probes = createProbeScheduleSql(db);

  function afterProbe({
    endpointId,
    streak,
    gone,
    at,
  }: Pick<Outcome, 'endpointId' | 'streak' | 'gone' | 'at'>) {
    if (streak === 'reset' && probes.isPlanned(endpointId))
      state.activate(endpointId, { clearFailures: true });
    else if (gone) probes.giveUp(endpointId);
    else probes.planNext(endpointId, at);
  }

  return ({ endpointId, streak, gone, probe, at }) => {
    if (probe) afterProbe({ endpointId, streak, gone, at });
    if (streak === 'reset') endpoints.clearFailures(endpointId);
    if (streak !== 'add') return;
    const { failures, autoResume } = endpoints.addFailure(endpointId);
    if (gone) state.pause(endpointId, { reason: 'gone', now: at, probeAt: null });
    else if (failures >= PAUSE_AT_FAILURES) {
      const probeAt = autoResume ? nextProbeAt(at, 0) : null;
      state.pause(endpointId, { reason: 'failures', now: at, probeAt });
    }
  };
}
